"""Kernels of :mod:`netcalc.ops.arithmetic`."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.dtypes import DType
from netcalc.numerics.kernels import Run, kernel, like, ufunc, wide
from netcalc.numerics.kernels._promotion import at_least, result_dtype
from netcalc.ops.arithmetic import Div, Pow


def operands(op: Any, arrays: tuple[Array | None, ...]) -> list[Any]:
    """Return the tensors and numbers in the order of the operation."""
    value = getattr(op, "value", None)
    operands = [*(a for a in arrays if a is not None), *([] if value is None else [value])]
    return operands[::-1] if getattr(op, "reverse", False) else operands


def alike(x: Any, y: Any, *, least: DType = "bool", rounds: bool = True) -> tuple[Array, Array, np.dtype[Any]]:
    """Return two operands in the type of the computation, and the type of the result.

    ``least`` is the type that the result has when both are of a lower kind.  With ``rounds``, numbers are rounded to
    this type first.
    """
    common = at_least(result_dtype(x, y), np.dtype(least))
    if rounds:
        x, y = (np.asanyarray(a).astype(common, copy=False) for a in (x, y))
    working = wide(np.empty(0, common)).dtype
    left, right = (np.asanyarray(a).astype(working, copy=False) for a in (x, y))
    return left, right, common


def register_combination(name: str, function: Callable[..., Any]) -> None:
    """Register the ufunc and the kernel of an operation on several operands, from left to right."""
    ufunc(name)(function)

    @kernel(name)
    def combine(op: Any, run: Run, *arrays: Array | None) -> Array:
        def both(x: Any, y: Any) -> Array:
            x, y, dtype = alike(x, y, rounds=op.rounds_number)
            result: Array = np.asanyarray(function(x, y))
            return result.astype(dtype, copy=False)

        first, *others = operands(op, arrays)
        for number, other in enumerate(others):
            if number:
                run.keep(**{f"self{number}": first})
            first = both(first, other)
        return np.asanyarray(first)


for _name, _function in {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "minimum": np.minimum,
    "maximum": np.maximum,
}.items():
    register_combination(_name, _function)

ufunc("div")(np.divide)


@kernel("div")
def div(op: Div, run: Run, *arrays: Array | None) -> Array:
    x, y, dtype = alike(*operands(op, arrays), least="bool" if op.rounding else "float32", rounds=op.rounds_number)
    if op.rounding is None:
        quotient = x / y
    elif op.rounding == "floor":
        quotient = np.floor_divide(x, y)
    elif x.dtype.kind == "f":
        quotient = np.trunc(x / y)
    else:  # an integer minus its remainder divides exactly
        quotient = np.floor_divide(x - np.fmod(x, y), y)
    return quotient.astype(dtype, copy=False)


@kernel("pow")
def power(op: Pow, run: Run, *arrays: Array | None) -> Array:
    x, y, dtype = alike(*operands(op, arrays))
    result: Array
    if op.value in (2, 3) and not op.reverse:
        result = reduce(np.multiply, [x] * int(op.value))
    elif x.dtype.kind in "fc":
        result = np.power(x, y)
    else:
        result = _whole_power(x, y)
    return result.astype(dtype, copy=False)


def _whole_power(x: Array, y: Array) -> Array:
    """Return an integer power, also for negative exponents, which NumPy rejects: ±1 for bases ±1, and 0 otherwise."""
    base, exponent = np.asarray(x), np.asarray(y)
    negative = exponent < 0
    result = np.power(x, like(y, np.where(negative, exponent % 2, exponent)))
    return np.where(negative & (base != 1) & (base != -1), 0, result)
