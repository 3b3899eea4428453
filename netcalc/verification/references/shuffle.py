"""References of :mod:`netcalc.ops.shuffle`."""

from __future__ import annotations

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference


@reference("pixel_shuffle")
def pixel_shuffle(op: Attributes, x: Array) -> Expected:
    r = op.upscale_factor
    *lead, channels, height, width = x.shape

    def at(index: Shape) -> object:
        *outer, c, row, column = index
        return x[(*outer, (c * r + row % r) * r + column % r, row // r, column // r)]

    return Expected((*lead, channels // (r * r), height * r, width * r), x.dtype.name, at)


@reference("pixel_unshuffle")
def pixel_unshuffle(op: Attributes, x: Array) -> Expected:
    r = op.downscale_factor
    *lead, channels, height, width = x.shape

    def at(index: Shape) -> object:
        *outer, c, row, column = index
        c, offset = divmod(c, r * r)
        down, right = divmod(offset, r)
        return x[(*outer, c, row * r + down, column * r + right)]

    return Expected((*lead, channels * r * r, height // r, width // r), x.dtype.name, at)


@reference("channel_shuffle")
def channel_shuffle(op: Attributes, x: Array) -> Expected:
    each = x.shape[1] // op.groups

    def at(index: Shape) -> object:
        sample, channel, *rest = index
        place, group = divmod(channel, op.groups)
        return x[(sample, group * each + place, *rest)]

    return Expected(x.shape, x.dtype.name, at)
