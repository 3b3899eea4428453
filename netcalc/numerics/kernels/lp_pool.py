"""Kernels of :mod:`netcalc.ops.lp_pool`."""

from __future__ import annotations

import math

import numpy as np

from netcalc.numerics.kernels import Array, Run, kernel, wide
from netcalc.numerics.kernels._pooling import elements, sums
from netcalc.opdef import Context
from netcalc.ops.lp_pool import LPPooling


@kernel("lp_pool1d", "lp_pool2d", "lp_pool3d")
def power_average(op: LPPooling, run: Run, x: Array) -> Array:
    counts = op.counts(Context(), x.shape[-op.axes :])
    y = sums(op, np.power(wide(x), op.norm_type), counts)
    if op.ceil_mode:
        y *= math.prod(op.kernel) / elements(op, x.shape[-op.axes :], counts, with_padding=True)
    return np.power(y, 1 / op.norm_type).astype(x.dtype, copy=False)
