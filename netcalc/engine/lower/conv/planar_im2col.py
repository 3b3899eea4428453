"""Convolution of few channels: each tap of each channel becomes a plane of pixels, copied in long runs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.lib.stride_tricks import as_strided

from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.conv.geometry import Convolution
from netcalc.engine.lower.conv.phases import fill_phases, phases_shape
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.regions import Region, cut_regions
from netcalc.engine.lower.tiling import emit_tiles
from netcalc.engine.step import Buffers
from netcalc.engine.tuning import Tuning
from netcalc.numerics.kernels import Array

__all__ = ["emit_planar_im2col", "has_narrow_windows"]


def has_narrow_windows(conv: Convolution, tuning: Tuning) -> bool:
    """Return True if contiguous runs of a window are shorter than a row of the result, so that planes are faster."""
    run = conv.channels * (conv.kernel[-1] if conv.dilation[-1] == 1 else 1)
    return conv.groups == 1 and len(conv.kernel) > 1 and run < min(tuning.planar_window_run, conv.counts[-1])


def emit_planar_im2col(context: LoweringContext, conv: Convolution) -> None:
    """Emit a step that copies planes of pixels and multiplies them, tile by tile."""
    depth = conv.channels * math.prod(conv.kernel)
    width = math.prod(conv.counts[1:])
    pixels = max(context.tuning.planar_least_pixels, context.tuning.planar_elements // depth)
    jobs = context.parallelism.product_jobs(conv.macs)
    tiles = cut_regions(conv.batch, conv.counts[0], width, pixels, jobs)

    def load() -> Array:  # (kernel… × in, out)
        return np.moveaxis(conv.filters(), (0, 1), (-1, -2))

    weight = context.constants.derived((depth, conv.outs), conv.x.dtype, load)

    def compute(tile: Region, result: Array, buffers: Buffers) -> Iterator[Pass]:
        images, *others, channels = phases_shape(conv, tile)
        slab = buffers.view("slab", (images, channels, *others))
        yield from fill_phases(conv, conv.x.array(), tile, np.moveaxis(slab, 1, -1))
        planes = buffers.view("planes", (*conv.kernel, channels, images, tile.height, *conv.counts[1:]))
        for tap in range(conv.kernel[-1]):
            target = np.moveaxis(planes, len(conv.kernel) - 1, 0)[tap]
            yield partial(np.copyto, target, _tap_planes(conv, tile, slab, tap))
        yield partial(np.matmul, planes.reshape(depth, -1).T, weight.array(), result)

    emit_tiles(
        context,
        conv.node,
        reads=(conv.x, weight),
        out=conv.out_rows,
        tiles=tiles,
        index=conv.whole_channels,
        compute=compute,
        dtype=conv.x.dtype,
        buffers={
            "slab": max(math.prod(phases_shape(conv, tile)) for tile in tiles),
            "planes": depth * width * max(tile.images * tile.height for tile in tiles),
        },
        epilogue=conv.epilogue,
        products=True,
    )


def _tap_planes(conv: Convolution, tile: Region, slab: Array, tap: int) -> Array:
    """Return a view (kernel… but its last axis, channels, images, counts…) of the pixels under a column of taps."""
    start, phase = divmod(tap * conv.dilation[-1], conv.stride[-1])
    plane = slab[..., phase, start : start + conv.counts[-1]]  # (images, channels, rows…, columns)
    image, channel, *rows, column = plane.strides
    downward = list(zip(rows, conv.dilation[:-1], conv.stride[:-1], strict=True))
    shape = (*conv.kernel[:-1], plane.shape[1], tile.images, tile.height, *conv.counts[1:])
    strides = (*(n * d for n, d, _ in downward), channel, image, *(n * s for n, _, s in downward), column)
    return as_strided(plane, shape, strides, writeable=False)
