"""Kernels of :mod:`netcalc.ops.max_pool`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from netcalc.numerics.kernels import Array, Run, kernel, like
from netcalc.numerics.kernels._pooling import pads
from netcalc.numerics.kernels._windows import pad, taps
from netcalc.opdef import Context
from netcalc.ops.max_pool import MaxPooling


@kernel("max_pool1d", "max_pool2d", "max_pool3d")
def maximum(op: MaxPooling, run: Run, x: Array) -> Array | tuple[Array, Array]:
    sizes = x.shape[-op.axes :]
    counts = op.counts(Context(), sizes)
    around = pads(op, sizes, counts)
    padded = pad(x, around, value=-np.inf)
    first, *others = taps(op.kernel, op.strides, op.dilations, counts)
    y: Array = padded[first].copy()
    if not op.return_indices:
        for index in others:
            np.maximum(y, padded[index], out=y)
        return y
    positions = pad(np.arange(math.prod(sizes)).reshape(sizes), around)
    indices = np.broadcast_to(_first_positions(op, sizes, counts), y.shape)
    for index in others:
        candidate = padded[index]
        better = np.where(np.isnan(candidate), True, candidate > y)  # NaN counts as largest, as in PyTorch
        y = like(x, np.where(better, candidate, y))
        indices = np.where(better, positions[index], indices)
    return y, like(x, np.array(indices))


def _first_positions(op: MaxPooling, sizes: Sequence[int], counts: Sequence[int]) -> Array:
    """Return the flat index of the first element of each window that is not padding."""
    flat = np.zeros((1,) * op.axes, np.int64)
    for axis, (size, count, (before, _)) in enumerate(zip(sizes, counts, op.pads(sizes), strict=True)):
        starts = np.arange(count) * op.strides[axis] - before
        starts += op.dilations[axis] * -(np.minimum(starts, 0) // op.dilations[axis])
        flat = flat * size + starts.reshape(-1, *(1,) * (op.axes - axis - 1))
    return flat
