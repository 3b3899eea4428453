"""Products of :mod:`netcalc.ops.shuffle`: the elements back in their places."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.shuffle import ChannelShuffle, PixelShuffle, PixelUnshuffle


@vjp("pixel_shuffle")
def pixel_shuffle(op: PixelShuffle, back: Back, gradient: Array) -> Gradients:
    r = op.upscale_factor
    *_, channels, height, width = shape = back.shape()
    squares = gradient.reshape(-1, channels // r**2, height, r, width, r)
    return {0: np.transpose(squares, (0, 1, 3, 5, 2, 4)).reshape(shape)}


@vjp("pixel_unshuffle")
def pixel_unshuffle(op: PixelUnshuffle, back: Back, gradient: Array) -> Gradients:
    r = op.downscale_factor
    *_, channels, height, width = shape = back.shape()
    parts = gradient.reshape(-1, channels, r, r, height // r, width // r)
    return {0: np.transpose(parts, (0, 1, 4, 2, 5, 3)).reshape(shape)}


@vjp("channel_shuffle")
def channel_shuffle(op: ChannelShuffle, back: Back, gradient: Array) -> Gradients:
    shape = back.shape()
    groups = gradient.reshape(shape[0], shape[1] // op.groups, op.groups, *shape[2:])
    return {0: np.swapaxes(groups, 1, 2).reshape(shape)}
