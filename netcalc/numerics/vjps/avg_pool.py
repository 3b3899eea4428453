"""Products of :mod:`netcalc.ops.avg_pool`."""

from __future__ import annotations

from typing import Any

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.kernels._pooling import elements, windows_of
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._pooling import spread_windows
from netcalc.ops.avg_pool import AvgPooling


@vjp("avg_pool1d", "avg_pool2d", "avg_pool3d")
def average(op: AvgPooling, back: Back, gradient: Array) -> Gradients:
    sizes = back.shape()[-op.axes :]
    windows = windows_of(op, sizes)
    g = wide(gradient)
    divisors: Any = op.divisor_override
    if divisors is None:
        divisors = elements(windows, sizes, with_padding=op.count_include_pad).astype(g.dtype)
    return {0: spread_windows(windows, g / divisors, sizes)}
