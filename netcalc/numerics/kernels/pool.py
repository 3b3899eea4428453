"""Kernels of :mod:`netcalc.ops.pool`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from netcalc.numerics.kernels import Array, Run, kernel, like, wide
from netcalc.numerics.kernels._windows import pad, taps
from netcalc.opdef import Context
from netcalc.ops.pool import AvgPooling, LPPooling, MaxPooling, Pooling


def _pads(op: Pooling, sizes: Sequence[int], counts: Sequence[int]) -> list[tuple[int, int]]:
    """The padding, extended to where the last windows reach."""
    every = zip(sizes, counts, op.kernel, op.strides, op.offsets, op.dilations, strict=True)
    return [(p, max(p, (count - 1) * s + d * (k - 1) + 1 - size - p)) for size, count, k, s, p, d in every]


@kernel("max_pool1d")
@kernel("max_pool2d")
@kernel("max_pool3d")
def maximum(op: MaxPooling, run: Run, x: Array) -> Array | tuple[Array, Array]:
    sizes = x.shape[-op.axes :]
    counts = op.counts(Context(), sizes)
    pads = _pads(op, sizes, counts)
    padded = pad(x, pads, value=-np.inf)
    first, *others = taps(op.kernel, op.strides, op.dilations, counts)
    y: Array = padded[first].copy()
    if not op.return_indices:
        for index in others:
            np.maximum(y, padded[index], out=y)
        return y
    positions = pad(np.arange(math.prod(sizes)).reshape(sizes), pads)
    found = np.broadcast_to(_first_positions(op, sizes, counts), y.shape)
    for index in others:
        candidate = padded[index]
        better = np.where(np.isnan(candidate), True, candidate > y)  # NaN wins, as in PyTorch
        y = like(x, np.where(better, candidate, y))
        found = np.where(better, positions[index], found)
    return y, like(x, np.array(found))


def _first_positions(op: Pooling, sizes: Sequence[int], counts: Sequence[int]) -> Array:
    """The flat position of each window's first tap that is not padding."""
    flat = np.zeros((1,) * op.axes, np.int64)
    for axis, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        starts = np.arange(count) * op.strides[axis] - op.offsets[axis]
        starts += op.dilations[axis] * -(np.minimum(starts, 0) // op.dilations[axis])
        flat = flat * size + starts.reshape(-1, *(1,) * (op.axes - axis - 1))
    return flat


def _sums(op: Pooling, x: Array, counts: Sequence[int]) -> Array:
    padded = pad(x, _pads(op, x.shape[-op.axes :], counts))
    first, *others = taps(op.kernel, op.strides, op.dilations, counts)
    y: Array = padded[first].copy()
    for index in others:
        y += padded[index]
    return y


def _elements(op: Pooling, sizes: Sequence[int], counts: Sequence[int], *, with_padding: bool) -> Array:
    """How many elements each window has, with or without the padding; never what lies past the padding."""
    elements = np.ones((1,) * op.axes, np.int64)
    for axis, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        offset = op.offsets[axis]
        starts = np.arange(count) * op.strides[axis] - offset
        ends = np.minimum(starts + op.kernel[axis], size + offset)
        if not with_padding:
            starts, ends = np.maximum(starts, 0), np.minimum(ends, size)
        elements = elements * (ends - starts).reshape(-1, *(1,) * (op.axes - axis - 1))
    return elements


@kernel("avg_pool1d")
@kernel("avg_pool2d")
@kernel("avg_pool3d")
def average(op: AvgPooling, run: Run, x: Array) -> Array:
    counts = op.counts(Context(), x.shape[-op.axes :])
    y = _sums(op, wide(x), counts)
    if op.divisor_override is not None:
        y /= op.divisor_override
    else:
        y /= _elements(op, x.shape[-op.axes :], counts, with_padding=op.count_include_pad)
    return y.astype(x.dtype, copy=False)


@kernel("lp_pool1d")
@kernel("lp_pool2d")
@kernel("lp_pool3d")
def power_average(op: LPPooling, run: Run, x: Array) -> Array:
    counts = op.counts(Context(), x.shape[-op.axes :])
    y = _sums(op, np.power(wide(x), op.norm_type), counts)
    if op.ceil_mode:
        y *= math.prod(op.kernel) / _elements(op, x.shape[-op.axes :], counts, with_padding=True)
    return np.power(y, 1 / op.norm_type).astype(x.dtype, copy=False)
