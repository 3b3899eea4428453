"""Products of :mod:`netcalc.ops.lp_pool`."""

from __future__ import annotations

import math

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.kernels._pooling import elements, windows_of
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._pooling import spread_windows
from netcalc.ops.lp_pool import LPPooling


@vjp("lp_pool1d", "lp_pool2d", "lp_pool3d")
def power_average(op: LPPooling, back: Back, gradient: Array) -> Gradients:
    x, y = wide(back.saved["self"]), wide(back.saved["result"])
    sizes = x.shape[-op.axes :]
    windows = windows_of(op, sizes)
    share = wide(gradient) * np.power(y, 1 - op.norm_type)
    if op.ceil_mode:
        share = share * (math.prod(op.kernel) / elements(windows, sizes, with_padding=True)).astype(share.dtype)
    share = select(y == 0, share.dtype.type(0), share)
    return {0: spread_windows(windows, share, sizes) * np.power(x, op.norm_type - 1)}
