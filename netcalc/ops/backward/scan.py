"""Backward passes of :mod:`netcalc.ops.scan`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netcalc.dims import Dim
from netcalc.dtypes import DType, promote
from netcalc.opdef import Term
from netcalc.ops._elementwise import terms
from netcalc.ops.activation import SiLU, Softplus
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._inner import inner
from netcalc.ops.scan import SelectiveScan, Wkv

#: Positions of the sums over earlier positions among the inputs of wkv.
_SUMS = (4, 5, 6)
_U, _DELTA, _A, _B, _C, _D, _Z, _BIAS, _START = range(9)


@dataclass(frozen=True)
class _Needs:
    """The gradients on the way that the wanted ones need."""

    delta: bool
    decay: bool
    written: bool
    states: bool
    #: The gradient of the output before the gate.
    output: bool


def _needs(call: BackwardCall) -> _Needs:
    delta = call.wants(_DELTA, _BIAS)
    decay, written = delta or call.wants(_A), delta or call.wants(_U)
    states = decay or written or call.wants(_B, _START)
    return _Needs(delta, decay, written, states, states or call.wants(_C, _D))


@backward("selective_scan")
class SelectiveScanBackward(Backward):
    """Backpropagation through the recurrence, from states and decays that were kept."""

    rule = (
        "∂L/∂x_t = g_t·C_t + exp(Δ_{t+1}·A)⊙∂L/∂x_{t+1}",
        "∂L/∂C_t = g_t·x_t,  ∂L/∂B_t = Δ_t·u_t·∂L/∂x_t,  summed over the channels that share it",
        "∂L/∂(Δ_t·A) = ∂L/∂x_t⊙exp(Δ_t·A)⊙x_{t−1},  from which ∂L/∂A and a part of ∂L/∂Δ",
        "∂L/∂u_t = Δ_t·(∂L/∂x_t·B_t) + D·g_t",
    )

    def saves(self, op: SelectiveScan, call: BackwardCall) -> Sequence[Saved]:
        batch, channels, length = call.input().shape
        cells = (batch, length, channels, call.input(_A).shape[1])
        need, precision = _needs(call), call.outputs[1].dtype
        saved: list[Saved] = []

        def keep(name: str, *shape: Dim) -> None:
            saved.append(call.saved_kept(name, *shape, dtype=precision))

        changed = op.delta_softplus or call.present(_BIAS)
        if need.delta or (call.wants(_D) and call.given[0]):
            saved.append(call.saved_input("u"))
        if call.wants(_A, _U):
            if changed:
                keep("delta", batch, channels, length)
            else:
                saved.append(call.saved_input("delta", _DELTA))
        if need.delta and op.delta_softplus:
            if call.present(_BIAS):
                keep("self", batch, channels, length)
            else:
                saved.append(call.saved_input("self", _DELTA))
        saved += [call.saved_input("A", _A)] if need.delta else []
        saved += [call.saved_input("B", _B)] if need.written else []
        saved += [call.saved_input("C", _C)] if need.states else []
        if call.wants(_B):
            keep("weighted", batch, channels, length)
        if need.states:
            keep("decay", *cells)
        if need.decay or call.wants(_C):
            keep("states", *cells)
        if need.decay and call.present(_START):
            saved.append(call.saved_input("initial_state", _START))
        if call.wants(_U) and call.present(_D):
            saved.append(call.saved_input("D", _D))
        if call.wants(_Z):
            saved.append(call.saved_input("z", _Z))
            keep("ungated", batch, channels, length)
        if call.present(_Z) and need.output:
            keep("gate", batch, channels, length)
        return saved

    def cost(self, op: SelectiveScan, call: BackwardCall) -> Sequence[Term]:
        work = list(self._output(call)) if call.given[0] else []
        if _needs(call).states:
            work += self._states(call)
        work += self._inputs(op, call)
        return work

    def _output(self, call: BackwardCall) -> Iterator[Term]:
        """Yield the work from the output to the states that it reads."""
        batch, channels, length = call.input().shape
        each = {"batch": batch, "length": length, "channels": channels}
        cells = {**each, "state": call.input(_A).shape[1]}
        need = _needs(call)
        if call.wants(_Z):
            yield Term.of("mul", "gradient of gate", **each)
            declared, within = inner(SiLU(), call.input(), call)
            yield from declared.cost(SiLU(), within)
        if call.present(_Z) and need.output:
            yield Term.of("mul", "gate", **each)
        if call.wants(_D):
            yield Term.of("mul", "gradient of D", **each)
            yield Term.of("add", "gradient of D", sums=batch * length - 1, channels=channels)
        if call.wants(_C):
            yield Term.of("mac", "gradient of C", **cells)
            c = call.input(_C)
            if c.rank == 2:
                yield Term.of("add", "gradient of C", sums=batch * length - 1, elements=c.elements)
        if need.states:
            yield Term.of("mac", "gradient of states", **cells)

    def _states(self, call: BackwardCall) -> Iterator[Term]:
        """Yield the work from the last state to the first, and to what each position writes."""
        batch, channels, length = call.input().shape
        last = len(call.given) > 1 and call.given[1]
        need = _needs(call)
        each = {"batch": batch, "length": length, "channels": channels}
        cells = {**each, "state": call.input(_A).shape[1]}
        others = call.input(_A).shape[1] - 1
        if call.given[0]:
            yield Term.of("add", "state", **{**cells, "length": length - 1 + last})
        yield Term.of("mul", "state", **{**cells, "length": length - 1 + call.wants(_START)})
        if need.decay:
            yield Term.of("mul", "gradient of decay", **cells, factors=2)
        if call.wants(_A):
            yield Term.of("mul", "gradient of A", **cells)
            yield Term.of("add", "gradient of A", sums=batch * length - 1, elements=call.input(_A).elements)
        if need.delta:
            yield Term.of("mul", "decay to delta", **cells)
            yield Term.of("add", "decay to delta", **each, others=others)
        if need.written:
            yield Term.of("mul", "input", **cells)
            yield Term.of("add", "input", **each, others=others)
        if call.wants(_B):
            yield Term.of("mul", "gradient of B", **cells)
            b = call.input(_B)
            all_cells = batch * length * channels * call.input(_A).shape[1]
            yield Term.of("add", "gradient of B", sums=all_cells - b.elements)

    def _inputs(self, op: SelectiveScan, call: BackwardCall) -> Iterator[Term]:
        """Yield the work of the gradients of u and delta."""
        batch, channels, length = call.input().shape
        each = {"batch": batch, "length": length, "channels": channels}
        if call.wants(_U):
            yield Term.of("mul", "gradient of u", **each)
            if call.given[0] and call.present(_D):
                yield Term.of("mul", "skip", **each)
                yield Term.of("add", "skip", **each)
        if _needs(call).delta:
            yield Term.of("mul", "gradient of delta", **each)
            yield Term.of("add", "gradient of delta", **each)
            if op.delta_softplus:
                declared, within = inner(Softplus(), call.input(), call)
                yield from declared.cost(Softplus(), within)
        if call.wants(_BIAS):
            yield Term.of("add", "gradient of delta_bias", sums=batch * length - 1, channels=channels)


@backward("wkv")
class WkvBackward(Backward):
    """Backpropagation through the two sums, relative to their largest exponents, of which the result is independent."""

    rule = (
        "y = a/b for the sums with and without values, to which the position itself adds p = e^{bonus + k}/b",
        "∂L/∂v_t = p_t·g_t + e^{k_t}·G_{t+1},  G_t = e^w·G_{t+1} + g_t/b_t",
        "∂L/∂k_t = p_t·g_t·(v_t − y_t) + e^{k_t}·(G_{t+1}·v_t − H_{t+1}),  H_t = e^w·H_{t+1} + g_t·y_t/b_t",
        "∂L/∂bonus = Σ p_t·g_t·(v_t − y_t),  ∂L/∂w = Σ e^w·(G_{t+1}·a_t − H_{t+1}·b_t)",
        "∂L/∂a_0 = G_1,  ∂L/∂b_0 = −H_1,  and their exponent's G_1·a_0 − H_1·b_0, for the sums of earlier positions",
    )

    def differentiable(self, op: Wkv, call: BackwardCall) -> tuple[bool, ...]:
        return (True, *[False] * (len(call.outputs) - 1))

    def saves(self, op: Wkv, call: BackwardCall) -> Sequence[Saved]:
        shape, precision = call.input().shape, _precision(call)
        key, value, decay, bonus = (call.wants(n) for n in range(4))
        start = call.wants(*_SUMS)
        saved = [call.saved_kept("down", *shape, dtype=precision)]

        def keep(*names: str) -> None:
            saved.extend(call.saved_kept(name, *shape, dtype=precision) for name in names)

        if key or bonus:
            saved.append(call.saved_input("value", 1))
        if key or bonus or decay or call.wants(*_SUMS[1:]):
            saved.append(call.saved_output("result"))
        if key or value or bonus:
            keep("new_output")
        if key or value or decay or start:
            keep("old_output", "old")
        if key or value:
            keep("new")
        if decay:
            keep("above", "below")
        if call.wants(_SUMS[2]):
            saved += [call.saved_input("numerator", _SUMS[0]), call.saved_input("denominator", _SUMS[1])]
        return saved

    def cost(self, op: Wkv, call: BackwardCall) -> Sequence[Term]:
        batch, length, channels = call.input().shape
        each = {"batch": batch, "length": length, "channels": channels}
        after = {**each, "length": length - 1}
        key, value, decay, bonus = (call.wants(n) for n in range(4))
        start, other = call.wants(*_SUMS), call.wants(*_SUMS[1:])
        taken, passed = {**each, "length": length - 1 + start}, {**each, "length": length - 2 + start}
        work = [Term.of("div", "quotient", **each)]
        if key or value or bonus:
            work.append(Term.of("mul", "own share", **each))
        if key or bonus:
            work += terms({"add": 1, "mul": 1}, "own exponent", **each)
        if bonus:
            work.append(Term.of("add", "gradient of bonus", sums=batch * length - 1, channels=channels))
        if key or value or decay or start:
            work.append(Term.of("mul", "sum with values", **taken))
            work += terms({"mul": 1, "add": 1}, "sum with values", **passed)
        if key or decay or other:
            work.append(Term.of("mul", "sum without values", **taken))
            work += terms({"mul": 1, "add": 1}, "sum without values", **passed)
        if call.wants(_SUMS[1]):
            work.append(Term.of("add", "gradient of denominator", batch=batch, channels=channels))
        if call.wants(_SUMS[2]):
            work += terms({"mul": 2, "add": 1}, "gradient of exponent", batch=batch, channels=channels)
        if value:
            work += terms({"mul": 1, "add": 1}, "gradient of value", **after)
        if key:
            work += terms({"mul": 2, "add": 2}, "gradient of key", **after)
        if decay:
            work += terms({"mul": 3, "add": 1}, "gradient of decay", **after)
            work.append(Term.of("add", "gradient of decay", sums=batch * (length - 1) - 1, channels=channels))
        return work


def _precision(call: BackwardCall) -> DType:
    """Return the element type of the sums, at least float32."""
    return promote("float32", *(type_.dtype for type_ in call.inputs if type_ is not None))
