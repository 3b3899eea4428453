"""Kernels of :mod:`netcalc.ops.avg_pool`."""

from __future__ import annotations

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, wide
from netcalc.numerics.kernels._pooling import elements, sums, windows_of
from netcalc.ops.avg_pool import AvgPooling


@kernel("avg_pool1d", "avg_pool2d", "avg_pool3d")
def average(op: AvgPooling, run: Run, x: Array) -> Array:
    sizes = x.shape[-op.axes :]
    windows = windows_of(op, sizes)
    y = sums(windows, wide(x))
    if op.divisor_override is not None:
        y /= op.divisor_override
    else:
        y /= elements(windows, sizes, with_padding=op.count_include_pad)
    return y.astype(x.dtype, copy=False)
