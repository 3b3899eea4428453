"""Depthwise convolution by the compiled kernel, which reads the input in place and takes padding as it comes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.conv.geometry import Convolution
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.regions import Region, cut_regions
from netcalc.engine.lower.tiling import emit_tiles
from netcalc.engine.native.depthwise import LEAST_CHANNELS, MOST_AXES, depthwise
from netcalc.engine.native.library import blocks_fit
from netcalc.engine.step import Buffers
from netcalc.numerics.kernels import Array

__all__ = ["emit_compiled_depthwise", "use_compiled_depthwise"]


def use_compiled_depthwise(context: LoweringContext, conv: Convolution) -> bool:
    """Return True if there is a kernel, and it takes this convolution."""
    return (
        context.tuning.compiled
        and blocks_fit()
        and conv.x.dtype == np.float32
        and conv.channels >= LEAST_CHANNELS
        and len(conv.kernel) <= MOST_AXES
    )


def emit_compiled_depthwise(context: LoweringContext, conv: Convolution) -> None:
    """Emit a convolution with one filter for each channel, tile by tile."""
    x = conv.x if conv.x.strides[-1] == conv.x.dtype.itemsize else context.emit.copy(conv.node, conv.x)
    weight = context.constants.derived(
        (*conv.kernel, conv.channels), conv.x.dtype, lambda: np.moveaxis(conv.filters()[:, 0], 0, -1)
    )
    row = math.prod(conv.counts[1:])
    pixels = max(1, context.tuning.epilogue_strip_elements // (row * conv.channels)) * row
    jobs = context.parallelism.pass_jobs(conv.out.elements)
    padding = [before for before, _ in conv.pads]

    def compute(tile: Region, result: Array, buffers: Buffers) -> Iterator[Pass]:
        images = x.array()[tile.first : tile.end]
        image = result.reshape(tile.images, tile.height, *conv.counts[1:], conv.channels)
        yield depthwise(images, weight.array(), image, tile.top, conv.stride, conv.dilation, padding)

    emit_tiles(
        context,
        conv.node,
        reads=(x, weight),
        out=conv.out_rows,
        tiles=cut_regions(conv.batch, conv.counts[0], row, pixels, jobs),
        index=conv.whole_channels,
        compute=compute,
        dtype=conv.x.dtype,
        epilogue=conv.epilogue,
    )
