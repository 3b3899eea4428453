"""References of :mod:`netcalc.ops.rectifier`."""

from __future__ import annotations

from typing import Any

from netcalc.verification.references import Array, Attributes, Expected, Shape, parameters, reference
from netcalc.verification.references._elementwise import FORMULAS, element, float_functions

FORMULAS.update(
    {
        "relu": lambda op, x: 0.0 if x < 0 else x,
        "relu6": lambda op, x: 0.0 if x < 0 else 6.0 if x > 6 else x,
        "leaky_relu": lambda op, x: x * op.negative_slope if x < 0 else x,
        "squared_relu": lambda op, x: 0.0 if x < 0 else x * x,
    }
)
float_functions("relu", "relu6", "leaky_relu", "squared_relu")


@reference("prelu")
def prelu(op: Attributes, x: Array, *, weight: Array) -> Expected:
    def at(index: Shape) -> Any:
        value = element(x, index)
        channel = index[1] if len(weight) > 1 else 0
        return value if value > 0 else value * element(weight, (channel,))

    return Expected(x.shape, x.dtype.name, at)


@parameters("prelu")
def prelu_parameters(op: Attributes, x: Shape) -> dict[str, Shape]:
    return {"weight": (op.num_parameters,)}
