"""Kernels of :mod:`netcalc.ops.max_pool`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, like
from netcalc.numerics.kernels._pooling import Windows, windows_of
from netcalc.numerics.kernels._windows import pad, taps
from netcalc.ops.max_pool import MaxPooling


@kernel("max_pool1d", "max_pool2d", "max_pool3d")
def maximum(op: MaxPooling, run: Run, x: Array) -> Array | tuple[Array, Array]:
    sizes = x.shape[-op.axes :]
    windows = windows_of(op, sizes)
    padded = pad(x, windows.reach, value=-np.inf)
    first, *others = taps(windows.kernel, windows.stride, windows.dilation, windows.counts)
    y: Array = padded[first].copy()
    if not op.return_indices and run.kept is None:
        for index in others:
            np.maximum(y, padded[index], out=y)
        return y
    positions = pad(np.arange(math.prod(sizes)).reshape(sizes), windows.reach)
    indices = np.broadcast_to(_first_positions(windows, sizes), y.shape)
    for index in others:
        candidate = padded[index]
        better = np.where(np.isnan(candidate), True, candidate > y)  # NaN counts as largest, as in PyTorch
        y = like(x, np.where(better, candidate, y))
        indices = np.where(better, positions[index], indices)
    if op.return_indices:
        return y, like(x, np.array(indices))
    run.keep(result1=np.array(indices))
    return y


def _first_positions(windows: Windows, sizes: Sequence[int]) -> Array:
    """Return the flat index of the first element of each window that is not padding."""
    flat = np.zeros((1,) * len(sizes), np.int64)
    for axis, (size, count, (before, _)) in enumerate(zip(sizes, windows.counts, windows.pads, strict=True)):
        starts = np.arange(count) * windows.stride[axis] - before
        starts += windows.dilation[axis] * -(np.minimum(starts, 0) // windows.dilation[axis])
        flat = flat * size + starts.reshape(-1, *(1,) * (len(sizes) - axis - 1))
    return flat
