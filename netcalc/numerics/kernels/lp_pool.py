"""Kernels of :mod:`netcalc.ops.lp_pool`."""

from __future__ import annotations

import math

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, wide
from netcalc.numerics.kernels._pooling import elements, sums, windows_of
from netcalc.ops.lp_pool import LPPooling


@kernel("lp_pool1d", "lp_pool2d", "lp_pool3d")
def power_average(op: LPPooling, run: Run, x: Array) -> Array:
    sizes = x.shape[-op.axes :]
    windows = windows_of(op, sizes)
    y = sums(windows, np.power(wide(x), op.norm_type))
    if op.ceil_mode:
        y *= math.prod(op.kernel) / elements(windows, sizes, with_padding=True)
    # in double precision, as an exponent that float32 rounds to 0 makes 1 of 0
    return np.power(y, np.float64(1 / op.norm_type)).astype(x.dtype, copy=False)
