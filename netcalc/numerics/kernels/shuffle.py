"""Kernels of :mod:`netcalc.ops.shuffle`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel
from netcalc.ops.shuffle import ChannelShuffle, PixelShuffle, PixelUnshuffle


@kernel("pixel_shuffle")
def pixel_shuffle(op: PixelShuffle, run: Run, x: Array) -> Array:
    r = op.upscale_factor
    *batch, channels, height, width = x.shape
    parts = x.reshape(-1, channels // r**2, r, r, height, width)
    pixels = np.transpose(parts, (0, 1, 4, 2, 5, 3))
    return pixels.reshape(*batch, channels // r**2, height * r, width * r)


@kernel("pixel_unshuffle")
def pixel_unshuffle(op: PixelUnshuffle, run: Run, x: Array) -> Array:
    r = op.downscale_factor
    *batch, channels, height, width = x.shape
    parts = x.reshape(-1, channels, height // r, r, width // r, r)
    stacked = np.transpose(parts, (0, 1, 3, 5, 2, 4))
    return stacked.reshape(*batch, channels * r**2, height // r, width // r)


@kernel("channel_shuffle")
def channel_shuffle(op: ChannelShuffle, run: Run, x: Array) -> Array:
    groups = x.reshape(len(x), op.groups, -1, *x.shape[2:])
    return np.swapaxes(groups, 1, 2).reshape(x.shape)
