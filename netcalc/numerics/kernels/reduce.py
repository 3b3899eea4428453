"""Kernels of :mod:`netcalc.ops.reduce`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from netcalc.arrays import Array, numpy_dtype
from netcalc.numerics.kernels import Run, axes_of, kernel, like, wide
from netcalc.numerics.kernels._promotion import floating
from netcalc.ops.reduce import Cumprod, Cumsum, Var, VectorNorm


def _prepared(op: Any, x: Array) -> tuple[Array, np.dtype[Any], dict[str, Any]]:
    """Return the input in the type of the computation, the type of the result, and the axes for NumPy."""
    dtype = _result(op, x)
    return wide(x.astype(dtype, copy=False)), dtype, {"axis": axes_of(op.axis, x.ndim), "keepdims": op.keepdim}


def _result(op: Any, x: Array) -> np.dtype[Any]:
    """Return the type of the result: a sum of integers is int64, an exponential of them float32."""
    if getattr(op, "dtype", None) is not None:
        return numpy_dtype(op.dtype)
    if op.name in ("sum", "prod", "cumsum", "cumprod"):
        return x.dtype if floating(x) == x.dtype else np.dtype(np.int64)
    return floating(x) if op.name == "logsumexp" else x.dtype


def _register(name: str, ufunc: np.ufunc) -> None:
    @kernel(name)
    def reduction(op: Any, run: Run, x: Array) -> Array:
        x, dtype, axes = _prepared(op, x)
        # explicit, since NumPy would choose a wider type
        result: Array = ufunc.reduce(x, dtype=x.dtype, **axes)
        return result.astype(dtype, copy=False)


for _name, _ufunc in {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}.items():
    _register(_name, _ufunc)


@kernel("mean")
def mean(op: Any, run: Run, x: Array) -> Array:
    x, dtype, axes = _prepared(op, x)
    total: Array = np.add.reduce(x, **axes)
    return (total / (x.size / total.size)).astype(dtype, copy=False)


@kernel("var")
def var(op: Var, run: Run, x: Array) -> Array:
    x, dtype, axes = _prepared(op, x)
    total = np.add.reduce(x, axis=axes["axis"], keepdims=True)
    count = x.size / total.size
    deviation = x - total / count
    squares: Array = np.add.reduce(np.square(deviation), **axes)
    return (squares / max(count - op.correction, 0)).astype(dtype, copy=False)


@kernel("vector_norm")
def vector_norm(op: VectorNorm, run: Run, x: Array) -> Array:
    x, dtype, axes = _prepared(op, x)
    norm: Array
    if math.isinf(op.ord):
        norm = (np.maximum if op.ord > 0 else np.minimum).reduce(np.abs(x), **axes)
    elif op.ord == 0:
        norm = np.add.reduce(np.not_equal(x, 0).astype(x.dtype), **axes)
    elif op.ord == 1:
        norm = np.add.reduce(np.abs(x), **axes)
    elif op.ord == 2:
        norm = np.sqrt(np.add.reduce(np.square(x), **axes))
    else:
        norm = np.power(np.add.reduce(np.power(np.abs(x), op.ord), **axes), 1 / op.ord)
    return norm.astype(dtype, copy=False)


@kernel("logsumexp")
def logsumexp(op: Any, run: Run, x: Array) -> Array:
    x, dtype, axes = _prepared(op, x)
    largest = np.maximum.reduce(x, axis=axes["axis"], keepdims=True)
    # ∞ − ∞ is NaN; an infinite maximum is the result
    largest = like(x, np.where(np.isfinite(largest), largest, 0).astype(x.dtype))
    total: Array = np.log(np.add.reduce(np.exp(x - largest), **axes))
    return (total + largest.reshape(np.shape(total))).astype(dtype, copy=False)


@kernel("cumsum")
def cumsum(op: Cumsum, run: Run, x: Array) -> Array:
    return _accumulated(np.add, op, x)


@kernel("cumprod")
def cumprod(op: Cumprod, run: Run, x: Array) -> Array:
    return _accumulated(np.multiply, op, x)


def _accumulated(ufunc: np.ufunc, op: Any, x: Array) -> Array:
    dtype = _result(op, x)
    y = wide(x.astype(dtype, copy=False))
    if x.ndim:
        y = ufunc.accumulate(y, axis=op.axis, dtype=y.dtype)
    return y.astype(dtype, copy=False)
