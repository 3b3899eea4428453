"""Helpers of pooling kernels: padding, and the sums and sizes of windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netcalc.numerics.kernels import Array
from netcalc.numerics.kernels._windows import pad, taps
from netcalc.ops._pooling import Pooling


def pads(op: Pooling, sizes: Sequence[int], counts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the padding, extended to the end of the last windows."""
    every = zip(sizes, counts, op.kernel, op.strides, op.pads(sizes), op.dilations, strict=True)
    return [(a, max(b, (count - 1) * s + d * (k - 1) + 1 - size - a)) for size, count, k, s, (a, b), d in every]


def sums(op: Pooling, x: Array, counts: Sequence[int]) -> Array:
    """Return the sum of each window, with padding of zeros."""
    padded = pad(x, pads(op, x.shape[-op.axes :], counts))
    first, *others = taps(op.kernel, op.strides, op.dilations, counts)
    y: Array = padded[first].copy()
    for index in others:
        y += padded[index]
    return y


def elements(op: Pooling, sizes: Sequence[int], counts: Sequence[int], *, with_padding: bool) -> Array:
    """Return the number of elements of each window, with or without padding, up to the end of the padding."""
    numbers = np.ones((1,) * op.axes, np.int64)
    for axis, (size, count, (before, after)) in enumerate(zip(sizes, counts, op.pads(sizes), strict=True)):
        starts = np.arange(count) * op.strides[axis] - before
        ends = np.minimum(starts + op.kernel[axis], size + after)
        if not with_padding:
            starts, ends = np.maximum(starts, 0), np.minimum(ends, size)
        numbers = numbers * (ends - starts).reshape(-1, *(1,) * (op.axes - axis - 1))
    return numbers
