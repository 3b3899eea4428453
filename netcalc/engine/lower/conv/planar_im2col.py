"""Convolution of few channels as a product: each tap of each channel is a row of pixels, copied in long runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.lib.stride_tricks import as_strided

from netcalc.engine.lower.context import Lowering
from netcalc.engine.lower.conv.geometry import Convolving, Region, regions, shaped
from netcalc.engine.lower.conv.phases import phased, phased_shape
from netcalc.engine.lower.epilogue import Pass
from netcalc.engine.step import Job, Scratch, Step
from netcalc.engine.tuning import Tuning
from netcalc.numerics.kernels import Array

__all__ = ["emit_planes", "narrow_windows"]


def narrow_windows(conv: Convolving, tuning: Tuning) -> bool:
    """Whether a window is in runs that are shorter than a row of the result."""
    run = conv.channels * (conv.kernel[-1] if conv.dilation[-1] == 1 else 1)
    return conv.groups == 1 and len(conv.kernel) > 1 and run < min(tuning.planar_window_run, conv.counts[-1])


def emit_planes(low: Lowering, conv: Convolving) -> None:
    """A step that copies rows of pixels and multiplies them, strip by strip."""
    depth = conv.channels * math.prod(conv.kernel)
    width = math.prod(conv.counts[1:])
    tiles = regions(
        conv.batch,
        conv.counts[0],
        width,
        max(low.tuning.planar_least_pixels, low.tuning.planar_elements // depth),
        low.parallelism.product_jobs(conv.macs),
    )

    def load() -> Array:  # (kernel… × in, out)
        return np.moveaxis(conv.filters(), (0, 1), (-1, -2))

    weight = low.made((depth, conv.outs), conv.x.dtype, load)
    pixels = max(tile.images * tile.height for tile in tiles) * width
    slab = max(math.prod(phased_shape(conv, tile)) for tile in tiles)
    narrow = conv.out.dtype != conv.x.dtype
    sizes = [slab, depth * pixels, *([pixels * conv.outs] if narrow else [])]
    own = len(conv.epilogue.scratch)
    scratch: list[Scratch] = [*conv.epilogue.scratch, *(((size,), conv.x.dtype) for size in sizes)]

    def bind(index: int, arrays: Sequence[Array]) -> Job:
        tile = tiles[index]
        images, *others, channels = phased_shape(conv, tile)
        under = shaped(arrays[own], (images, channels, *others))
        passes: list[Pass] = list(phased(conv, conv.x.array(), tile, np.moveaxis(under, 1, -1)))
        rows = shaped(arrays[own + 1], (*conv.kernel, channels, images, tile.height, *conv.counts[1:]))
        for tap in range(conv.kernel[-1]):
            goal = np.moveaxis(rows, len(conv.kernel) - 1, 0)[tap]
            passes.append(partial(np.copyto, goal, _taps(conv, tile, under, tap)))
        place = tile.rows(conv)
        goal = conv.out_rows.array()[place]
        y = shaped(arrays[own + 2], goal.shape) if narrow else goal
        passes.append(partial(np.matmul, rows.reshape(depth, -1).T, weight.array(), y))
        return conv.epilogue.finish(passes, y, goal, place, slice(0, conv.outs), arrays)

    reads = (conv.x, weight, *conv.epilogue.reads)
    low.emit(Step(conv.node, reads, (conv.out,), len(tiles), bind, scratch, products=True))


def _taps(conv: Convolving, tile: Region, slab: Array, tap: int) -> Array:
    """A view (kernel… but its last axis, channels, images, counts…) of what one column of the kernel takes."""
    start, phase = divmod(tap * conv.dilation[-1], conv.stride[-1])
    plane = slab[..., phase, start : start + conv.counts[-1]]  # (images, channels, rows…, columns)
    image, channel, *rows, column = plane.strides
    downward = list(zip(rows, conv.dilation[:-1], conv.stride[:-1], strict=True))
    shape = (*conv.kernel[:-1], plane.shape[1], tile.images, tile.height, *conv.counts[1:])
    strides = (*(n * d for n, d, _ in downward), channel, image, *(n * s for n, _, s in downward), column)
    return as_strided(plane, shape, strides, writeable=False)
