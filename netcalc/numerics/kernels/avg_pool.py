"""Kernels of :mod:`netcalc.ops.avg_pool`."""

from __future__ import annotations

from netcalc.numerics.kernels import Array, Run, kernel, wide
from netcalc.numerics.kernels._pooling import elements, sums
from netcalc.opdef import Context
from netcalc.ops.avg_pool import AvgPooling


@kernel("avg_pool1d", "avg_pool2d", "avg_pool3d")
def average(op: AvgPooling, run: Run, x: Array) -> Array:
    counts = op.counts(Context(), x.shape[-op.axes :])
    y = sums(op, wide(x), counts)
    if op.divisor_override is not None:
        y /= op.divisor_override
    else:
        y /= elements(op, x.shape[-op.axes :], counts, with_padding=op.count_include_pad)
    return y.astype(x.dtype, copy=False)
