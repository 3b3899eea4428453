"""References of :mod:`netcalc.ops.gated_units`."""

from __future__ import annotations

from typing import Any

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._elementwise import Formula, element, sigmoid
from netcalc.verification.references.activation import gelu

_ACTIVATIONS: dict[str, Formula] = {
    "glu": lambda op, x: sigmoid(x),
    "reglu": lambda op, x: max(x, 0.0),
    "geglu": gelu,
    "swiglu": lambda op, x: x * sigmoid(x),
}


@reference("glu", "reglu", "geglu", "swiglu")
def gated(op: Attributes, x: Array) -> Expected:
    axis = op.axis % x.ndim
    half = x.shape[axis] // 2

    def at(index: Shape) -> Any:
        first = element(x, index)
        second = element(x, (*index[:axis], index[axis] + half, *index[axis + 1 :]))
        gate, value = (first, second) if op.gate == "first" else (second, first)
        factor = _ACTIVATIONS[op.name](op, gate)
        if isinstance(factor, Value):
            return Value(factor.value * value, factor.magnitude * abs(value))
        return factor * value

    return Expected((*x.shape[:axis], half, *x.shape[axis + 1 :]), x.dtype.name, at)
