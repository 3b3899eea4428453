"""Prediction of signals and gradients through a whole program, from the initializers of its parameters."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from netcalc.analysis.signal.channels import channel_axis, default_axis
from netcalc.analysis.signal.curves import CURVES
from netcalc.analysis.signal.rules import RULES
from netcalc.analysis.signal.state import Call, Outcome, Signal, sizes, unknown
from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance
from netcalc.inits import InitRules
from netcalc.ir import InputSpec, Program, parameter_at
from netcalc.opdef import Param


@dataclass(frozen=True, slots=True)
class PredictedOperation:
    """Prediction for one operation, in order of execution; ``occurrence`` counts operations at the same path.

    ``axis`` is the channel axis of the first output and ``data`` the number of samples and positions of a channel.
    ``gradient`` is the expected square of the norm of the gradient of the output, ``parameters`` the same of each
    parameter, and ``back`` the factor by which the product of the operation multiplies it for its first input; None
    where it is not known, and ``gradient_gap`` is the reason.
    """

    path: str
    op: str
    occurrence: int
    signal: Signal
    before: Signal | None
    axis: int
    data: int
    gradient: float | None
    back: float | None
    parameters: Mapping[str, float | None]
    saturated: float | None
    note: str
    gradient_gap: str


@dataclass(eq=False, slots=True)
class _Value:
    signal: Signal
    axis: int
    number: int


@dataclass(eq=False, slots=True)
class _Step:
    instance: Instance
    inputs: tuple[_Value | None, ...]
    outputs: tuple[_Value, ...]
    outcome: Outcome


def drawn_signal(spec: InputSpec) -> Signal:
    """Return the moments of an input that is drawn: standard normal, uniform on its range, or its default."""
    if not spec.type.is_float:
        return Signal(None, None, None, exchangeable=True, gap=f"{spec.name} holds {spec.type.dtype}")
    if spec.default is not None:
        value = float(spec.default)
        return Signal(value, value**2, value**2, exchangeable=True)
    if spec.low is None and spec.high is None:
        return Signal(0.0, 1.0, 0.0, normal=True, roots=frozenset({f"/{spec.name}"}), exchangeable=True)
    low = 0.0 if spec.low is None else spec.low
    high = low + 1.0 if spec.high is None else spec.high
    mean = (low + high) / 2
    return Signal(
        mean, mean**2 + (high - low) ** 2 / 12, mean**2, roots=frozenset({f"/{spec.name}"}), exchangeable=True
    )


def propagate(
    program: Program,
    rules: InitRules | None = None,
    given: Mapping[str, Signal] | None = None,
    summed: Collection[str] | None = None,
) -> list[PredictedOperation]:
    """Return the prediction for every operation, repeats unrolled.

    Args:
        rules: initialization rules; the spec's when None.
        given: moments of inputs that are not drawn.
        summed: names of the outputs whose elements the loss adds up.  None for a sum of all outputs with independent
            weights, in which the gradient of all of them together has an expected norm of 1.
    """
    walk = _Walk(program, InitRules.of(program) if rules is None else rules)
    inputs = [
        walk.value((given or {}).get(spec.name) or drawn_signal(spec), default_axis(spec.type.rank))
        for spec in program.inputs
    ]
    outputs = unroll(program, [*inputs], walk.step)
    return walk.rows(outputs, summed)


class _Walk:
    def __init__(self, program: Program, rules: InitRules) -> None:
        self._program = program
        self._rules = rules
        self._steps: list[_Step] = []
        self._count = 0
        self._selected: set[int] = set()  # values whose gradients depend on their own elements
        self._dependent: set[int] = set()  # values whose gradients at different data depend on each other

    def value(self, signal: Signal, axis: int) -> _Value:
        self._count += 1
        return _Value(signal, axis, self._count)

    def step(self, instance: Instance, inputs: Sequence[_Value | None]) -> list[_Value]:
        signals = [None if value is None else value.signal for value in inputs]
        outcome = self._outcome(instance, signals)
        axis = channel_axis(instance, [None if value is None else value.axis for value in inputs])
        outputs = tuple(self.value(outcome.signal, axis) for _ in instance.node.outputs)
        self._steps.append(_Step(instance, tuple(inputs), outputs, outcome))
        return list(outputs)

    def _outcome(self, instance: Instance, signals: Sequence[Signal | None]) -> Outcome:
        node = instance.node
        rule = RULES.get(node.op.name)
        if rule is None or (node.inputs and node.inputs[0] is None):
            gap = next((s.gap for s in signals if s is not None and s.gap), "")
            return Outcome(unknown(gap or f"no rule for {node.op.name} ({instance.path})"))

        def declared(name: str) -> Param:
            owning = parameter_at(self._program.main.nodes, instance.owners[name])
            return next(p for p in node.params if p.name == name) if owning is None else owning[1]

        return rule(Call(instance, signals, self._program.training, self._rules, declared))

    def rows(self, outputs: Sequence[_Value], summed: Collection[str] | None) -> list[PredictedOperation]:
        """Return the predictions, with the gradients that flow back from the outputs."""
        types = [value.known_type for value in self._program.main.outputs if value is not None]
        named = zip(self._program.output_names, outputs, types, strict=True)
        elements = {
            value.number: math.prod(sizes(type_))
            for name, value, type_ in named
            if type_.is_float and (summed is None or name in summed)
        }
        total = 1 if summed is not None else sum(elements.values()) or 1
        flow: dict[int, float | str] = {number: count / total for number, count in elements.items()}
        if summed is not None:  # the same weight of 1 everywhere
            self._dependent.update(elements)
        rows = [self._row(step, flow) for step in reversed(self._steps)]
        seen: dict[str, int] = {}
        numbered = []
        for row in reversed(rows):
            seen[row.path] = seen.get(row.path, -1) + 1
            numbered.append(replace(row, occurrence=seen[row.path]))
        return numbered

    def _row(self, step: _Step, flow: dict[int, float | str]) -> PredictedOperation:
        """Propagate the squared norms of gradients through a step; a text is the reason why one is not known."""
        arrived = [flow.pop(value.number) for value in step.outputs if value.number in flow]
        gap = next((part for part in arrived if isinstance(part, str)), "")
        square = None if gap else sum(part for part in arrived if not isinstance(part, str))
        back = step.outcome.back
        dependent = any(value.number in self._dependent for value in step.outputs)
        selected = any(value.number in self._selected for value in step.outputs)
        curved = step.instance.node.op.name in CURVES and step.outcome.selects
        missing = f"no rule for the gradient of {step.instance.node.op.name} ({step.instance.path})"
        if selected and curved:
            back = {0: None}
            missing = (
                f"slope and gradient of {step.instance.node.op.name} depend on the same elements ({step.instance.path})"
            )
        for position, value in enumerate(step.inputs):
            type_ = step.instance.node.input_types[position]
            if value is None or type_ is None or not type_.is_float or not arrived:
                continue
            if dependent or step.outcome.mixes:
                self._dependent.add(value.number)
            if step.outcome.selects or (selected and not step.instance.node.op.gemm):
                self._selected.add(value.number)
            factor = back.get(position)
            part: float | str = gap
            if not gap:
                part = missing if factor is None or square is None else factor * square
            before = flow.get(value.number, 0.0)
            if not isinstance(before, str):
                flow[value.number] = part if isinstance(part, str) else before + part
        node, first = step.instance.node, step.inputs[0] if step.inputs else None
        shape = sizes(node.output_types[0])
        channels = shape[step.outputs[0].axis] if shape else 1
        return PredictedOperation(
            step.instance.path,
            node.op.name,
            0,
            step.outcome.signal,
            None if first is None else first.signal,
            step.outputs[0].axis,
            math.prod(shape) // max(channels, 1),
            square,
            back.get(0),
            self._parameters(step, None if dependent else square),
            step.outcome.saturated,
            step.outcome.note,
            gap,
        )

    @staticmethod
    def _parameters(step: _Step, square: float | None) -> dict[str, float | None]:
        """Return the squared norms of the gradients of parameters, sums over data that are independent."""
        squares: dict[str, float | None] = {}
        for param in step.instance.node.params:
            factor = step.outcome.parameters.get(param.name)
            if param.trainable:
                squares[param.name] = None if factor is None or square is None else factor * square
        return squares
