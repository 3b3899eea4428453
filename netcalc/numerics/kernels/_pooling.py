"""What kernels of pooling share: the padding, and the sums and sizes of windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netcalc.numerics.kernels import Array
from netcalc.numerics.kernels._windows import pad, taps
from netcalc.ops._pooling import Pooling


def pads(op: Pooling, sizes: Sequence[int], counts: Sequence[int]) -> list[tuple[int, int]]:
    """The padding, extended to where the last windows reach."""
    every = zip(sizes, counts, op.kernel, op.strides, op.offsets, op.dilations, strict=True)
    return [(p, max(p, (count - 1) * s + d * (k - 1) + 1 - size - p)) for size, count, k, s, p, d in every]


def sums(op: Pooling, x: Array, counts: Sequence[int]) -> Array:
    """The sum of each window, padding being zeros."""
    padded = pad(x, pads(op, x.shape[-op.axes :], counts))
    first, *others = taps(op.kernel, op.strides, op.dilations, counts)
    y: Array = padded[first].copy()
    for index in others:
        y += padded[index]
    return y


def elements(op: Pooling, sizes: Sequence[int], counts: Sequence[int], *, with_padding: bool) -> Array:
    """How many elements each window has, with or without the padding; never what lies past the padding."""
    found = np.ones((1,) * op.axes, np.int64)
    for axis, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        offset = op.offsets[axis]
        starts = np.arange(count) * op.strides[axis] - offset
        ends = np.minimum(starts + op.kernel[axis], size + offset)
        if not with_padding:
            starts, ends = np.maximum(starts, 0), np.minimum(ends, size)
        found = found * (ends - starts).reshape(-1, *(1,) * (op.axes - axis - 1))
    return found
