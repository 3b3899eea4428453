"""Kernels of :mod:`netcalc.ops.global_pool`."""

from __future__ import annotations

import math

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, wide
from netcalc.ops.global_pool import GlobalAvgPooling, GlobalMaxPooling, GlobalPooling


def _with_axes(op: GlobalPooling, y: Array) -> Array:
    return y.reshape(*y.shape, *(1,) * (op.axes if op.keepdim else 0))


@kernel("global_avg_pool1d", "global_avg_pool2d", "global_avg_pool3d")
def average(op: GlobalAvgPooling, run: Run, x: Array) -> Array:
    y = np.add.reduce(wide(x), axis=tuple(range(-op.axes, 0))) / math.prod(x.shape[-op.axes :])
    return _with_axes(op, y.astype(x.dtype, copy=False))


@kernel("global_max_pool1d", "global_max_pool2d", "global_max_pool3d")
def maximum(op: GlobalMaxPooling, run: Run, x: Array) -> Array:
    return _with_axes(op, np.maximum.reduce(x, axis=tuple(range(-op.axes, 0))))
