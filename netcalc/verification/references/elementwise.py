"""References of :mod:`netcalc.ops.elementwise`."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference
from netcalc.verification.references._broadcast import converted
from netcalc.verification.references._elementwise import FORMULAS, Formula, element
from netcalc.verification.references._promotion import result_type


def _logarithm(x: Any) -> Any:
    if isinstance(x, complex):
        return complex(np.log(abs(x)), math.atan2(x.imag, x.real))
    return np.log2(x) * math.log(2)


def _root(x: Any) -> Any:
    return cmath.rect(math.sqrt(abs(x)), cmath.phase(x) / 2) if isinstance(x, complex) else np.sqrt(x)


_FLOATS: dict[str, Formula] = {
    "exp": lambda op, x: np.exp(x),
    "log": lambda op, x: _logarithm(x),
    "sqrt": lambda op, x: _root(x),
    "rsqrt": lambda op, x: x**-0.5 if x > 0 else 1 / np.sqrt(x),
    "reciprocal": lambda op, x: (
        x.conjugate() / np.float64(abs(x) ** 2) if isinstance(x, complex) else np.float64(1) / x
    ),
    "sin": lambda op, x: np.sin(x),
    "cos": lambda op, x: np.cos(x),
}
FORMULAS.update(_FLOATS)


def fractional_function(formula: Formula, op: Attributes, x: Array) -> Expected:
    """Return what a formula gives for each element; integers and bools become float32."""
    dtype = x.dtype.name if np.issubdtype(x.dtype, np.inexact) or x.dtype.name == "bfloat16" else "float32"
    return Expected(x.shape, dtype, lambda index: formula(op, element(x, index)))


@reference(*_FLOATS)
def fractional(op: Attributes, x: Array) -> Expected:
    return fractional_function(_FLOATS[op.name], op, x)


def _sign(x: Any) -> Any:
    return -1 if x < 0 else int(x > 0)


def _size(x: Any) -> Any:
    if isinstance(x, complex):
        return math.hypot(x.real, x.imag)
    return -x if x < 0 else x


_EXACT = {"square": lambda x: x * x, "abs": _size, "neg": lambda x: -x, "sign": _sign}
#: The element type of the size of a complex number.
_SIZES = {"complex64": "float32", "complex128": "float64"}


@reference(*_EXACT)
def exact(op: Attributes, x: Array) -> Expected:
    dtype = "int64" if op.name == "square" and x.dtype.name == "bool" else x.dtype.name
    dtype = _SIZES.get(dtype, dtype) if op.name == "abs" else dtype
    return Expected(x.shape, dtype, lambda index: converted(_EXACT[op.name](x[index].item()), dtype))


@reference("clamp")
def clamp(op: Attributes, x: Array) -> Expected:
    def at(index: Shape) -> Any:
        value = x[index].item()
        if any(number is not None and number != number for number in (value, op.min, op.max)):
            return math.nan
        low = value if op.min is None else max(value, op.min)
        return low if op.max is None else min(low, op.max)

    return Expected(x.shape, result_type(x, *(bound for bound in (op.min, op.max) if bound is not None)), at)


@reference("cast")
def cast(op: Attributes, x: Array) -> Expected:
    return Expected(x.shape, op.dtype, lambda index: converted(x[index].item(), op.dtype))
