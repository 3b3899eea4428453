"""Kernels of :mod:`netcalc.ops.norm`."""

from __future__ import annotations

import math

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, axes_of, kernel, wide
from netcalc.numerics.kernels._windows import pad
from netcalc.ops.norm import GroupNorm, LayerNorm, LocalResponseNorm, Normalize, RMSNorm


def mean(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the mean over ``axes``, which are kept with size 1."""
    average: Array = _sum(x, axes) / math.prod(x.shape[axis] for axis in axes)
    return average


def centered(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Return the mean, the centered ``x``, and the biased variance; all axes are kept."""
    middle = mean(x, axes)
    rest = x - middle
    return middle, rest, mean(rest * rest, axes)


def reciprocal_root(variance: Array, eps: float) -> Array:
    """Return 1/√(v + ε)."""
    root: Array = 1 / np.sqrt(variance + eps)
    return root


def standardized(x: Array, axes: tuple[int, ...], eps: float) -> tuple[Array, Array, Array]:
    """Return ``x`` normalized to mean 0 and variance 1 over ``axes``, its mean, and 1/√(variance + ε)."""
    middle, rest, variance = centered(x, axes)
    root = reciprocal_root(variance, eps)
    return rest * root, middle, root


def by_channel(values: Array, rank: int) -> Array:
    """Return a vector with an element per channel, shaped to broadcast along axis 1 of ``rank`` axes."""
    return values.reshape(-1, *(1,) * (rank - 2))


def affine(x: Array, weight: Array | None, bias: Array | None) -> Array:
    """Return x · weight + bias, where both are optional."""
    if weight is not None:
        x = x * weight
    return x if bias is None else x + bias


def either(computed: Array | None, parameter: Array | None) -> Array | None:
    """Return a tensor that is an input if it is one, or the parameter."""
    return parameter if computed is None else computed


def trailing(op: LayerNorm | RMSNorm) -> tuple[int, ...]:
    """Return the axes that are normalized together."""
    return tuple(range(-(len(op.normalized_shape or ()) or op.axes or 1), 0))


@kernel("layer_norm")
def layer_norm(
    op: LayerNorm,
    run: Run,
    x: Array,
    factor: Array | None = None,
    shift: Array | None = None,
    *,
    weight: Array | None = None,
    bias: Array | None = None,
) -> Array:
    y, middle, root = standardized(wide(x), trailing(op), op.eps)
    run.keep(result1=middle, result2=root)
    return affine(y, either(factor, weight), either(shift, bias)).astype(x.dtype, copy=False)


@kernel("rms_norm")
def rms_norm(op: RMSNorm, run: Run, x: Array, factor: Array | None = None, *, weight: Array | None = None) -> Array:
    inner = wide(x)
    eps = float(np.finfo(inner.dtype).eps) if op.eps is None else op.eps
    root = reciprocal_root(mean(inner * inner, trailing(op)), eps)
    run.keep(result1=root)
    y = inner * root
    weight = either(factor, weight)
    if weight is not None and op.offset:
        weight = wide(weight) + op.offset
    return affine(y, weight, None).astype(x.dtype, copy=False)


@kernel("group_norm")
def group_norm(
    op: GroupNorm,
    run: Run,
    x: Array,
    factor: Array | None = None,
    shift: Array | None = None,
    *,
    weight: Array | None = None,
    bias: Array | None = None,
) -> Array:
    batch, channels = x.shape[:2]
    grouped = wide(x).reshape(batch, op.groups, channels // op.groups, -1)
    y, middle, root = standardized(grouped, (2, 3), op.eps)
    run.keep(result1=middle.reshape(batch, -1), result2=root.reshape(batch, -1))
    vectors = either(factor, weight), either(shift, bias)
    shaped = (None if vector is None else by_channel(vector, x.ndim) for vector in vectors)
    return affine(y.reshape(x.shape), *shaped).astype(x.dtype, copy=False)


@kernel("local_response_norm")
def local_response_norm(op: LocalResponseNorm, run: Run, x: Array) -> Array:
    inner = wide(x)
    channels = x.shape[1]
    around = (op.size // 2, (op.size - 1) // 2)
    squares = pad(inner * inner, [around, *[(0, 0)] * (x.ndim - 2)])
    window = squares[:, :channels]
    for start in range(1, op.size):
        window = window + squares[:, start : start + channels]
    base = window * (op.alpha / op.size) + op.k
    divisor = np.power(base, op.beta)
    run.keep(other=divisor, pow_self=base)
    y: Array = inner / divisor
    return y.astype(x.dtype, copy=False)


@kernel("normalize")
def normalize(op: Normalize, run: Run, x: Array) -> Array:
    inner = wide(x)
    length = norm(inner, op.p, axes_of(op.axis, x.ndim))
    run.keep(result=length)
    y: Array = inner / np.maximum(length, op.eps)
    return y.astype(x.dtype, copy=False)


def norm(x: Array, p: float, axes: tuple[int, ...]) -> Array:
    """Return the p-norms along ``axes``, which are kept with size 1."""
    if p == 2:
        return np.sqrt(_sum(x * x, axes))
    if p == 0:
        return _sum((x != 0).astype(x.dtype), axes)
    size = np.abs(x)
    if math.isinf(p):
        extreme = np.maximum if p > 0 else np.minimum
        largest: Array = extreme.reduce(size, axis=axes, keepdims=True)
        return largest
    if p == 1:
        return _sum(size, axes)
    return np.power(_sum(np.power(size, p), axes), 1 / p)


def _sum(x: Array, axes: tuple[int, ...]) -> Array:
    total: Array = np.add.reduce(x, axis=axes, keepdims=True)
    return total
