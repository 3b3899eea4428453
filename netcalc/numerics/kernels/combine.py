"""Kernels of :mod:`netcalc.ops.combine`."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from netcalc.dtypes import DType, result_type
from netcalc.numerics.arrays import dtype_name, numpy_dtype
from netcalc.numerics.kernels import Array, Run, kernel, wide
from netcalc.ops.combine import Div, MaskedFill, Pow


def _operands(op: Any, arrays: tuple[Array | None, ...], *, least: DType = "bool") -> tuple[list[Array], np.dtype[Any]]:
    """All operands in the type that the arithmetic is done in, and the type of its result.

    ``least`` is the type that the result has when all operands are of a lower kind.
    """
    given = [a for a in arrays if a is not None]
    numbers: tuple[Any, ...] = op.numbers() if hasattr(op, "numbers") else ()
    dtype = result_type([(dtype_name(a.dtype), a.ndim) for a in given], *numbers)
    dtype = result_type([(dtype, 1), (least, 0)])
    common = numpy_dtype(dtype)
    working = wide(np.empty(0, common)).dtype
    operands = [a.astype(working, copy=False) for a in given] + [np.asarray(n).astype(working) for n in numbers]
    if getattr(op, "reverse", False):
        operands.reverse()
    return operands, common


def _register(name: str, ufunc: Callable[..., Any]) -> None:
    @kernel(name)
    def combine(op: Any, run: Run, *arrays: Array | None) -> Array:
        operands, dtype = _operands(op, arrays)
        result: Array = reduce(ufunc, operands)
        return result.astype(dtype, copy=False)


def _register_test(name: str, ufunc: Callable[..., Any]) -> None:
    @kernel(name)
    def test(op: Any, run: Run, *arrays: Array | None) -> Array:
        result: Array = reduce(ufunc, _operands(op, arrays)[0])
        return result


for _name, _ufunc in {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "minimum": np.minimum,
    "maximum": np.maximum,
}.items():
    _register(_name, _ufunc)

for _name, _test in {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
}.items():
    _register_test(_name, _test)


@kernel("logical_not")
def logical_not(op: Any, run: Run, x: Array) -> Array:
    return np.logical_not(wide(x))


@kernel("div")
def div(op: Div, run: Run, *arrays: Array | None) -> Array:
    (x, y), dtype = _operands(op, arrays, least="bool" if op.rounding else "float32")
    if op.rounding is None:
        quotient = x / y
    elif op.rounding == "floor":
        quotient = np.floor_divide(x, y)
    elif x.dtype.kind == "f":
        quotient = np.trunc(x / y)
    else:  # a whole number less its remainder divides exactly
        quotient = np.floor_divide(x - np.fmod(x, y), y)
    return quotient.astype(dtype, copy=False)


@kernel("pow")
def power(op: Pow, run: Run, *arrays: Array | None) -> Array:
    (x, y), dtype = _operands(op, arrays)
    if op.multiplications is None:
        return np.power(x, y).astype(dtype, copy=False)
    result: Array = reduce(np.multiply, [x] * (op.multiplications + 1))
    return result.astype(dtype, copy=False)


@kernel("where")
def where(op: Any, run: Run, condition: Array, x: Array, other: Array) -> Array:
    (x, other), dtype = _operands(op, (x, other))
    return np.where(condition, x, other).astype(dtype, copy=False)


@kernel("masked_fill")
def masked_fill(op: MaskedFill, run: Run, x: Array, mask: Array) -> Array:
    return np.where(mask, np.asarray(op.value).astype(x.dtype), x)
