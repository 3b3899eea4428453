"""Kernels of :mod:`netcalc.ops.blur_pool`."""

from __future__ import annotations

import math

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, initial_table, kernel, wide
from netcalc.numerics.kernels._windows import correlate, pad
from netcalc.ops.blur_pool import BlurPool2d


@initial_table("blur_pool2d")
def binomial(op: BlurPool2d, name: str, shape: tuple[int, ...]) -> Array:
    row = np.array([math.comb(op.filt_size - 1, i) for i in range(op.filt_size)]) / 2 ** (op.filt_size - 1)
    return np.broadcast_to(np.multiply.outer(row, row), shape)


@kernel("blur_pool2d")
def blur_pool2d(op: BlurPool2d, run: Run, x: Array, *, filt: Array) -> Array:
    batched = wide(x if x.ndim == 4 else x[None])
    channels = batched.shape[1]
    filters = np.broadcast_to(wide(filt), (channels, *filt.shape[1:]), subok=True)
    y = correlate(
        pad(batched, [((s + op.filt_size - 2) // 2,) * 2 for s in op.stride], op.pad_mode),
        filters,
        op.stride,
        (1, 1),
        channels,
    )
    return y.reshape(*x.shape[:-2], *y.shape[-2:]).astype(x.dtype, copy=False)
