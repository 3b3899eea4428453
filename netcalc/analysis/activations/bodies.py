"""Peaks of bodies by liveness of memory, which views share."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import prod
from typing import NamedTuple, TypeAlias

from netcalc.analysis.activations.execution import Execution
from netcalc.analysis.activations.frame import Frame, Origin, bytes_of
from netcalc.analysis.activations.records import LiveTensor, Step
from netcalc.analysis.layout import Layout, Storage
from netcalc.analysis.liveness import dying
from netcalc.analysis.strides import Shape
from netcalc.diagnostics import Span
from netcalc.dims import integer
from netcalc.dims.valued import largest
from netcalc.dtypes import ITEMSIZE
from netcalc.ir import Body, CallNode, OpNode, Value, join
from netcalc.ops.eager import Work


class Given(NamedTuple):
    """An argument of a body; ``owned`` if the body releases its memory after the last use, and counts it."""

    layout: Layout
    owned: bool


class Result(NamedTuple):
    """An output of a body: memory of the input numbered ``source``, or new memory, the same for equal ``number``."""

    source: int | None
    number: int
    layout: Layout
    origin: Origin


@dataclass(frozen=True, slots=True)
class Peak:
    """The most bytes of a body, without those that its callers keep, and where."""

    bytes: int = -1
    path: str = ""
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """Memory of one call of a body."""

    peak: Peak
    steps: tuple[Step, ...]
    results: tuple[Result, ...]


#: What a body's memory depends on: for each input its memory by number, bytes, owner, shape and strides.
_Key: TypeAlias = tuple[Hashable, ...]


class Bodies:
    """Outcomes of bodies, each computed once for a state of its inputs."""

    def __init__(self, rules: Execution) -> None:
        self._rules = rules
        self._known: dict[tuple[Body, _Key], Outcome] = {}
        self._dying = cache(partial(dying, held=rules.frames))  # values that are not used after each node of a body

    def outcome(self, body: Body, given: Sequence[Given | None]) -> Outcome:
        """Return the memory of a call of a body.

        Raises:
            UndecidedError: if a size is symbolic.
        """
        key = body, _key_of_inputs(given)
        if key not in self._known:
            self._known[key] = _Evaluation(self, self._rules, body, given).outcome(self._dying(body))
        return self._known[key]

    def live(self, body: Body, given: Sequence[Given | None]) -> tuple[Origin, ...]:
        """Return the tensors that are live at the peak of a call of a body, without those that its callers keep.

        The body is evaluated once more, and the body of the call at the peak.  Listing the tensors at every new peak
        would take quadratic time.
        """
        evaluation = _Evaluation(self, self._rules, body, given, self.outcome(body, given).peak.bytes)
        evaluation.outcome(self._dying(body))
        return evaluation.live


class _Evaluation:
    """Evaluation of one body on layouts; ``live`` are the tensors at the peak if it is known beforehand."""

    def __init__(
        self, bodies: Bodies, rules: Execution, body: Body, given: Sequence[Given | None], peak: int | None = None
    ) -> None:
        self._bodies = bodies
        self._rules = rules
        self._body = body
        self._frame = Frame()
        self._sources: dict[Storage, int] = {}
        self._peak = Peak()
        self._known = peak
        self.live: tuple[Origin, ...] = ()
        self._steps: list[Step] = []
        for number, (value, argument) in enumerate(zip(body.inputs, given, strict=True)):
            if value is not None and argument is not None:
                source = self._sources.setdefault(argument.layout.storage, number)
                self._frame.admit(argument.layout.storage, source, argument.owned)
                self._frame.define(value, argument.layout)

    def outcome(self, dead: Sequence[Sequence[Value]]) -> Outcome:
        self.offer(self._frame.size, Peak(0))
        used = {value for node in self._body.nodes for value in node.inputs}.union(self._body.outputs)
        self._frame.release([value for value in self._body.inputs if value is not None and value not in used])
        for node, ending in zip(self._body.nodes, dead, strict=True):
            if isinstance(node, CallNode):
                _Loop(self, node, ending).run()
            else:
                self._operation(node)
            self._frame.release(ending)
        return Outcome(self._peak, tuple(self._steps), tuple(self._results()))

    def _operation(self, node: OpNode) -> None:
        frame = self._frame
        layouts = [frame.layout(value) for value in node.inputs]
        outputs = self._rules.results(node, layouts)
        new: dict[Storage, LiveTensor] = {}
        for number, (layout, value) in enumerate(zip(outputs, node.outputs, strict=True)):
            if not frame.knows(layout.storage) and layout.storage not in new:
                path = node.name if len(outputs) == 1 else join(node.name, str(number))
                type_ = value.known_type
                shape = tuple(map(integer, type_.shape))
                new[layout.storage] = LiveTensor(path, shape, type_.dtype, bytes_of([layout.storage]))
        most: int | None = None
        for moment in self._rules.moments(node, layouts, outputs):
            made = tuple(new.values()) if moment.outputs else ()
            work = tuple(_work_tensor(node.name, buffer) for buffer in moment.work)
            size = sum(tensor.bytes for tensor in (*made, *work))
            most = frame.size + size if most is None else largest(most, frame.size + size)
            if self.offer(frame.size, Peak(size, node.name, node.span)):
                self.live += (*made, *work)
        self._steps.append(Step(node.name, node.op.name, -1 if most is None else most))
        for storage, tensor in new.items():
            frame.admit(storage, tensor, not storage.parameter)
        for value, layout in zip(node.outputs, outputs, strict=True):
            frame.define(value, layout)

    def offer(self, size: int, peak: Peak) -> bool:
        """Take a peak beside other ``size`` bytes if it is the largest so far.

        Return True if it is the one that is known, so that the tensors in it are wanted beside the tensors of the
        frame.
        """
        if int(size + peak.bytes) <= int(self._peak.bytes):
            return False
        self._peak = Peak(size + peak.bytes, peak.path, peak.span)
        if self._peak.bytes != self._known:
            return False
        self.live = tuple(tensor for tensor in self._frame.held() if isinstance(tensor, int) or tensor.bytes)
        return True

    def _results(self) -> Iterable[Result]:
        numbers: dict[Storage, int] = {}
        for value in self._body.outputs:
            layout = self._frame.layout(value)
            assert layout is not None
            number = numbers.setdefault(layout.storage, len(numbers))
            yield Result(self._sources.get(layout.storage), number, layout, self._frame.origin(layout.storage))


def _work_tensor(path: str, work: Work) -> LiveTensor:
    shape = tuple(map(integer, work.type.shape))
    return LiveTensor(path, shape, work.type.dtype, prod(shape) * ITEMSIZE[work.type.dtype], work.name)


class _Iteration(NamedTuple):
    """An evaluated iteration of a call and the number of iterations like it."""

    first: int
    times: int
    outcome: Outcome
    base: int


class _Loop:
    """Evaluation of the iterations of a call: the first, the last, and those between until their state repeats."""

    def __init__(self, evaluation: _Evaluation, node: CallNode, dead: Sequence[Value]) -> None:
        self._in = evaluation
        self._frame = evaluation._frame
        self._node = node
        self._arguments = [self._frame.layout(value) for value in node.inputs]
        fixed = self._arguments[node.carried :]
        self._fixed = {layout.storage for layout in fixed if layout is not None}
        #: Memory that is released during the call, or by it.
        self._alive = self._frame.ending(dead, node.inputs, node.holds if evaluation._rules.frames else ())
        self._frame.lend(self._alive)
        self._done: list[_Iteration] = []

    def run(self) -> None:
        times, index, seen = self._node.times, 0, dict[Hashable, int]()
        while index < times:
            last = index == times - 1
            inputs = self._inputs_of_iteration(last)
            state = _key_of_inputs(inputs), tuple(g is not None and g.layout.storage in self._alive for g in inputs)
            period = index - seen.get(state, index)
            periods = (times - 1 - index) // period if period and not last else 0
            if periods:
                repeated = self._done[-period:]
                self._done[-period:] = [passed._replace(times=passed.times + periods) for passed in repeated]
                index += periods * period
                seen.clear()
                continue
            seen[state] = index
            self._iteration(index, inputs, last)
            index += 1
        self._finish()

    def _inputs_of_iteration(self, last: bool) -> list[Given | None]:
        frames = self._in._rules.frames
        return [
            None
            if layout is None
            else Given(
                layout, not frames and layout.storage in self._alive and (last or layout.storage not in self._fixed)
            )
            for layout in self._arguments
        ]

    def _iteration(self, index: int, inputs: Sequence[Given | None], last: bool) -> None:
        name = self._node.instance(index)
        outcome = self._in._bodies.outcome(self._node.body, inputs)
        owned = {argument.layout.storage for argument in inputs if argument is not None and argument.owned}
        remaining = {storage: origin for storage, origin in self._alive.items() if storage not in owned}
        base = self._frame.size + bytes_of(remaining)
        peak = outcome.peak
        if self._in.offer(base, Peak(peak.bytes, join(name, peak.path), peak.span)):
            inner = self._in._bodies.live(self._node.body, inputs)
            self._in.live += tuple(remaining.values())
            self._in.live += tuple(self._origin_of_input(t) if isinstance(t, int) else t.below(name) for t in inner)
        self._done.append(_Iteration(index, 1, outcome, base))
        following: dict[Storage, Origin] = {} if last else {s: o for s, o in remaining.items() if s in self._fixed}
        made: dict[int, Storage] = {}
        for position, result in enumerate(outcome.results):
            source = None if result.source is None else inputs[result.source]
            if source is not None:
                storage = source.layout.storage
            else:
                old = result.layout.storage
                storage = made.setdefault(result.number, Storage(old.nbytes, old.parameter))
            if storage in self._alive:
                following[storage] = self._alive[storage]
            elif source is None and not storage.parameter:
                assert isinstance(result.origin, LiveTensor)
                following[storage] = result.origin.below(name)
            layout = Layout(storage, result.layout.shape, result.layout.strides)
            self._arguments[position : position + 1] = [layout]
        self._alive = following

    def _origin_of_input(self, number: int) -> Origin:
        layout = self._arguments[number]
        assert layout is not None
        return self._alive[layout.storage]

    def _finish(self) -> None:
        outputs = self._arguments[: len(self._node.outputs)]
        for storage, origin in self._alive.items():
            self._frame.admit(storage, origin, True)
        for value, layout in zip(self._node.outputs, outputs, strict=True):
            assert layout is not None
            if not self._frame.knows(layout.storage):  # memory that does not count
                origin = LiveTensor(value.name, layout.shape, value.known_type.dtype, 0)
                self._frame.admit(layout.storage, origin, False)
            self._frame.define(value, layout)
        merged: list[_Iteration] = []
        for iterations in self._done:
            if merged and merged[-1].outcome is iterations.outcome and merged[-1].base == iterations.base:
                merged[-1] = merged[-1]._replace(times=merged[-1].times + iterations.times)
            else:
                merged.append(iterations)
        block = self._node.body.block
        self._in._steps += (
            Step(
                self._node.instance(iterations.first),
                block,
                iterations.base + iterations.outcome.peak.bytes,
                iterations.times,
                iterations.base,
                iterations.outcome.steps,
            )
            for iterations in merged
        )


def _key_of_inputs(inputs: Sequence[Given | None]) -> _Key:
    numbers: dict[Storage, int] = {}
    entries: list[tuple[int, int, bool, bool, Shape, Shape] | None] = []
    for argument in inputs:
        if argument is None:
            entries.append(None)
            continue
        layout = argument.layout
        storage = layout.storage
        number = numbers.setdefault(storage, len(numbers))
        entries.append((number, storage.nbytes, storage.parameter, argument.owned, layout.shape, layout.strides))
    return tuple(entries)
