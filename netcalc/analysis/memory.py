"""Prediction of the memory that the reference executor uses, in bytes.

The executor evaluates the nodes in order, fetches the parameters of a node just before it, and releases a value after
its last use. The peak is computed once for each body, so that a stack of a million equal layers takes the time of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.analysis.liveness import dying
from netcalc.analysis.temporaries import kernel_temporaries
from netcalc.diagnostics import Span
from netcalc.dims import integer
from netcalc.dtypes import ITEMSIZE
from netcalc.ir import Body, CallNode, OpNode, Program, Value, dtype_of, join
from netcalc.ir.storage import as_executed
from netcalc.results import recorded


class MemoryTotals(NamedTuple):
    """The predicted memory in bytes."""

    weights: int
    activations: int
    peak: int


@recorded(*MemoryTotals._fields)
@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of one forward pass by the reference path, in bytes.

    Attributes:
        weights: all parameters, tied ones counted once; the path holds the weights of one operation at a time.
        buffers: all buffers, such as running statistics.
        activations: the peak of program inputs and live values, exactly.
        peak: the peak of the executor: live values, the parameters of the operation that runs, and an allowance for
            the temporaries of its kernel (:func:`~netcalc.analysis.temporaries.kernel_temporaries`), an upper bound.
        peak_at: path of the operation at which the peak is reached.
        span: its place in the spec.
    """

    weights: int
    buffers: int
    activations: int
    peak: int
    peak_at: str
    span: Span | None = None


def memory(program: Program) -> Memory:
    """Return the memory that a forward pass uses.

    Raises:
        UndecidedError: a size is symbolic; see :func:`netcalc.ir.specialize.specialize`.
    """
    program = as_executed(program)
    analysis = Analysis(program, CONVENTIONS["netcalc"])
    inputs = _bytes(program.main.inputs)
    peak = _Peaks(analysis).body(program.main, (False,) * len(program.main.inputs)).plus(inputs)
    weights, buffers = integer(analysis.total.weight_bytes), integer(analysis.total.buffer_bytes)
    return Memory(weights, buffers, peak.live, peak.total, peak.path, peak.span)


@dataclass(frozen=True, slots=True)
class _Peak:
    """Peak bytes of live values, and of all memory with path and place of the operation that reaches this peak."""

    live: int = 0
    total: int = 0
    path: str = ""
    span: Span | None = None

    def plus(self, size: int, name: str = "") -> _Peak:
        """Return the peak with ``size`` further live bytes; ``name`` is put before the path."""
        return _Peak(size + self.live, size + self.total, join(name, self.path), self.span)

    def __or__(self, other: _Peak) -> _Peak:
        larger = max(self, other, key=lambda peak: peak.total)
        return _Peak(max(self.live, other.live), larger.total, larger.path, larger.span)


class _Peaks:
    """Peaks of bodies, without the values that their callers keep alive.

    ``owned`` marks the inputs that the caller passes on without keeping them.  They count in the body, which releases
    them after their last use.
    """

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._known: dict[tuple[Body, tuple[bool, ...]], _Peak] = {}
        self._dying = cache(dying)

    def body(self, body: Body, owned: tuple[bool, ...]) -> _Peak:
        key = body, owned
        if key not in self._known:
            self._known[key] = self._run(body, owned)
        return self._known[key]

    def _run(self, body: Body, owned: tuple[bool, ...]) -> _Peak:
        live = {value for value, is_owned in zip(body.inputs, owned, strict=True) if is_owned and value is not None}
        size = _bytes(live)
        peak = _Peak(size, size)
        for node, dead in zip(body.nodes, self._dying(body), strict=True):
            if isinstance(node, CallNode):
                passed = [value in live and value in dead and node.inputs.count(value) == 1 for value in node.inputs]
                passed_size = _bytes(value for value, is_passed in zip(node.inputs, passed, strict=True) if is_passed)
                peak |= self._call(node, passed).plus(size - passed_size, node.instance(0))
            else:
                needed = size + _bytes(node.outputs)
                peak |= _Peak(needed, needed + self._parameters(node) + self._temporaries(node), node.name, node.span)
            new = {value for value in node.outputs if value not in live}
            released = (live | new).intersection(dead)
            size += _bytes(new) - _bytes(released)
            live = (live | new) - released
        return peak

    def _call(self, node: CallNode, passed: Sequence[bool]) -> _Peak:
        """Return the peak over the first iteration, the last, and those between.

        ``passed`` marks the inputs that the caller does not keep.  An input of all iterations is released in the last
        one; a carried value is owned by the iteration that receives it.
        """
        carried = node.carried
        calls = {(True, False), (False, True), (False, False)} if node.times > 1 else {(True, True)}
        peak = _Peak()
        for first, last in sorted(calls):
            owned = tuple(
                (is_passed or not first) if i < carried else (is_passed and last) for i, is_passed in enumerate(passed)
            )
            held_bytes = _bytes(v for v, a, b in zip(node.inputs, passed, owned, strict=True) if a and not b)
            peak |= self.body(node.body, owned).plus(held_bytes)
        return peak

    def _parameters(self, node: OpNode) -> int:
        default = self._analysis.program.dtype
        return sum(integer(p.elements) * ITEMSIZE[dtype_of(p, node, default)] for p in node.params)

    def _temporaries(self, node: OpNode) -> int:
        return kernel_temporaries(node, self._analysis.terms(node), self._analysis.program.dtype)


def _bytes(values: Iterable[Value | None]) -> int:
    """Return the bytes of distinct values."""
    types = [value.known_type for value in dict.fromkeys(values) if value is not None]
    return sum(integer(type_.elements) * ITEMSIZE[type_.dtype] for type_ in types)
