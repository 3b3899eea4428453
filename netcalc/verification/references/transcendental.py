"""References of :mod:`netcalc.ops.transcendental`, by other formulas for the functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference
from netcalc.verification.references._broadcast import converted, operands_of
from netcalc.verification.references._elementwise import FORMULAS, Formula
from netcalc.verification.references.elementwise import fractional_function


def _expm1(x: Any) -> Any:
    return np.exp(x) - 1 if np.isinf(x) else 2 * np.sinh(x / 2) * np.exp(x / 2)


def _log1p(x: Any) -> Any:
    return np.log(x) if np.isinf(x) else 2 * np.arctanh(x / (2 + x))


def _asinh(x: Any) -> Any:
    if np.isinf(x):
        return x
    return np.copysign(np.log1p(abs(x) + x * x / (1 + np.sqrt(1 + x * x))), x)


def _erfinv(x: float) -> float:
    """Return the number at which the error function is x, by bisection of its logarithmic complement."""
    size = abs(x)
    if not size < 1:
        return math.copysign(math.inf, x) if size == 1 else math.nan
    low, high = 0.0, 6.0
    for _ in range(200):
        middle = (low + high) / 2
        below = math.erf(middle) < size if size < 0.5 else math.erfc(middle) > 1 - size
        low, high = (middle, high) if below else (low, middle)
    return math.copysign(high if size else 0.0, x)


_FLOATS: dict[str, Formula] = {
    "expm1": lambda op, x: _expm1(x),
    "exp2": lambda op, x: np.float64(2) ** x,
    "log1p": lambda op, x: _log1p(x),
    "log2": lambda op, x: np.log(x) / math.log(2),
    "log10": lambda op, x: np.log(x) / math.log(10),
    "tan": lambda op, x: np.sin(x) / np.cos(x),
    "asin": lambda op, x: np.arctan2(x, np.sqrt(1 - x * x)),
    "acos": lambda op, x: np.arctan2(np.sqrt(1 - x * x), x),
    "atan": lambda op, x: np.arctan2(x, np.float64(1)),
    "sinh": lambda op, x: (np.expm1(x) - np.expm1(-x)) / 2,
    "cosh": lambda op, x: (np.exp(x) + np.exp(-x)) / 2,
    "asinh": lambda op, x: _asinh(x),
    "acosh": lambda op, x: np.log(x + np.sqrt(x * x - 1)),
    "atanh": lambda op, x: np.log1p(2 * x / (1 - x)) / 2,
    "erf": lambda op, x: math.erf(x),
    "erfc": lambda op, x: math.erfc(x),
    "erfinv": lambda op, x: _erfinv(float(x)),
}
FORMULAS.update(_FLOATS)


@reference(*_FLOATS)
def fractional(op: Attributes, x: Array) -> Expected:
    return fractional_function(_FLOATS[op.name], op, x)


@reference("atan2")
def angle(op: Attributes, *inputs: Array | None) -> Expected:
    shape, dtype, operands = operands_of(op, inputs)
    result = dtype if "float" in dtype else "float32"

    def at(index: Shape) -> Any:
        y, x = (converted(value, result) for value in operands(index)[:: -1 if op.reverse else 1])
        return math.atan2(y, x)

    return Expected(shape, result, at)
