"""References of :mod:`netcalc.ops.reduce`, after torch.sum, torch.var, torch.linalg.vector_norm and others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from netcalc.arrays import numpy_dtype
from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._places import along
from netcalc.verification.references._sums import double, mean, product, sum_of_products, total


def _reduction(op: Attributes, x: Array, dtype: str, reduce: Callable[[Array], Any]) -> Expected:
    """Return a reduction over ``axis`` by a function of the elements that an output element reduces."""
    axes = range(x.ndim) if op.axis is None or not x.ndim else [axis % x.ndim for axis in op.axis]
    shape = [1 if axis in axes else size for axis, size in enumerate(x.shape) if op.keepdim or axis not in axes]

    def at(index: Shape) -> Any:
        places = iter(index)
        chosen: list[Any] = []
        for axis in range(x.ndim):
            if axis in axes:
                chosen.append(slice(None))
                if op.keepdim:
                    next(places)
            else:
                chosen.append(next(places))
        return reduce(np.asarray(x[tuple(chosen)]).ravel())

    return Expected(tuple(shape), dtype, at, math.prod(x.shape[axis] for axis in axes))


def _type_of_sum(op: Attributes, x: Array) -> str:
    """Return the element type of a sum or product: int64 for integers and booleans."""
    return str(op.dtype or (x.dtype.name if "float" in x.dtype.name or x.dtype.kind == "c" else "int64"))


@reference("sum", "prod")
def accumulation(op: Attributes, x: Array) -> Expected:
    dtype = numpy_dtype(_type_of_sum(op, x))
    combine = sum_of_products if op.name == "sum" else product
    return _reduction(op, x, dtype.name, lambda elements: combine(dtype, elements.astype(dtype)))


@reference("mean")
def average(op: Attributes, x: Array) -> Expected:
    dtype = numpy_dtype(op.dtype or x.dtype.name)

    def reduce(elements: Array) -> Value:
        summed = total(elements.astype(dtype))
        return Value(summed.value / elements.size, summed.magnitude / elements.size)

    return _reduction(op, x, dtype.name, reduce)


@reference("max", "min")
def extreme(op: Attributes, x: Array) -> Expected:
    def reduce(elements: Array) -> Any:
        ordered = sorted(elements.tolist())
        undefined = any(map(math.isnan, ordered))
        return math.nan if undefined else ordered[-1 if op.name == "max" else 0]

    return _reduction(op, x, x.dtype.name, reduce)


@reference("var")
def variance(op: Attributes, x: Array) -> Expected:
    def reduce(elements: Array) -> Value:
        middle = mean(elements)
        squares = total((double(elements) - middle) ** 2).value
        spread = float(np.float64(squares) / max(elements.size - op.correction, 0))
        # a mean that is rounded in single precision adds its error squared
        return Value(spread, spread + 1e-7 * middle**2)

    return _reduction(op, x, x.dtype.name, reduce)


def norm(elements: Array, p: float) -> Value:
    """Return (Σ|x|ᵖ)^(1/p), and its limits for p = ±∞ and 0."""
    sizes = np.abs(double(elements))
    if math.isinf(p):
        ordered = sorted(sizes.tolist())
        extreme = math.nan if np.isnan(sizes).any() else ordered[-1 if p > 0 else 0]
        return Value(extreme, extreme)
    if p == 0:
        return Value(float(np.count_nonzero(sizes)), 0.0)
    # of very large orders the reciprocal rounds to 0, as in PyTorch
    root = 1 / p if elements.dtype == np.float64 else float(np.float32(1 / p))
    size = float(np.float64(total(sizes**p).value) ** root)
    return Value(size, size * max(1, 1 / abs(p)))


@reference("vector_norm")
def vector_norm(op: Attributes, x: Array) -> Expected:
    return _reduction(op, x, x.dtype.name, lambda elements: norm(elements, float(op.ord)))


@reference("logsumexp")
def logsumexp(op: Attributes, x: Array) -> Expected:
    dtype = numpy_dtype(x.dtype.name if "float" in x.dtype.name else "float32")

    def reduce(elements: Array) -> Value:
        exponents = double(elements.astype(dtype))
        everything = float(np.logaddexp.reduce(exponents))
        return Value(everything, abs(everything) + abs(float(exponents.max())) + 1)

    return _reduction(op, x, dtype.name, reduce)


@reference("cumsum", "cumprod")
def cumulative(op: Attributes, x: Array) -> Expected:
    dtype = numpy_dtype(_type_of_sum(op, x))
    if not x.ndim:
        return Expected((), dtype.name, lambda index: x.astype(dtype)[()])

    def at(index: Shape) -> Any:
        before = along(x, index, op.axis, slice(index[op.axis] + 1))
        return (sum_of_products if op.name == "cumsum" else product)(dtype, before.astype(dtype))

    return Expected(x.shape, dtype.name, at, x.shape[op.axis])
