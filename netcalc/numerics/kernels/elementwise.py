"""Kernels of :mod:`netcalc.ops.elementwise`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from netcalc.arrays import Array, numpy_dtype
from netcalc.numerics.kernels import Run, kernel, wide
from netcalc.numerics.kernels._promotion import floating, result_dtype
from netcalc.ops.elementwise import Cast, Clamp


def register_float_function(name: str, function: Callable[[Array], Array]) -> None:
    """Register a kernel that keeps float types, and returns float32 for other types."""

    @kernel(name)
    def apply(op: Any, run: Run, x: Array) -> Array:
        dtype = floating(x)
        return function(wide(x.astype(dtype, copy=False))).astype(dtype, copy=False)


_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": np.reciprocal,
    "sin": np.sin,
    "cos": np.cos,
}
for _name, _function in _FUNCTIONS.items():
    register_float_function(_name, _function)


@kernel("square")
def square(op: Any, run: Run, x: Array) -> Array:
    x = x.astype(np.int64) if x.dtype == np.bool_ else x
    return np.square(wide(x)).astype(x.dtype, copy=False)


@kernel("abs")
def absolute(op: Any, run: Run, x: Array) -> Array:
    return np.abs(x)


@kernel("neg")
def negative(op: Any, run: Run, x: Array) -> Array:
    return -x


@kernel("sign")
def sign(op: Any, run: Run, x: Array) -> Array:
    signs: Array = np.sign(x.astype(np.int8) if x.dtype == np.bool_ else x)
    return np.where(np.isnan(signs), 0, signs).astype(x.dtype, copy=False)


@kernel("clamp")
def clamp(op: Clamp, run: Run, x: Array) -> Array:
    dtype = result_dtype(x, *(bound for bound in (op.min, op.max) if bound is not None))
    y = wide(x.astype(dtype, copy=False))
    if op.min is not None:
        y = np.maximum(y, np.asarray(op.min).astype(y.dtype))
    if op.max is not None:
        y = np.minimum(y, np.asarray(op.max).astype(y.dtype))
    return y.astype(dtype, copy=False)


@kernel("cast")
def cast(op: Cast, run: Run, x: Array) -> Array:
    dtype = numpy_dtype(op.dtype)
    return (x if dtype.kind in "bc" or x.dtype.kind != "c" else x.real).astype(dtype)
