"""Convolution of few channels in each group by the compiled kernel, which reads windows in place."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.conv.geometry import Convolution
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.regions import Region, cut_regions
from netcalc.engine.lower.tiling import emit_tiles
from netcalc.engine.native.grouped import FILTERS, MOST_AXES, MOST_CHANNELS, MOST_TAPS, grouped
from netcalc.engine.native.library import available
from netcalc.engine.step import Buffers
from netcalc.engine.tuning import Tuning
from netcalc.numerics.kernels import Array

__all__ = ["emit_grouped", "use_grouped"]


def use_grouped(conv: Convolution, tuning: Tuning) -> bool:
    """Return True if there is a kernel, it takes this convolution, and copied windows would not be faster."""
    return (
        tuning.compiled
        and available()
        and conv.x.dtype == np.float32
        and conv.groups > 1
        and conv.channels // conv.groups <= tuning.grouped_channels
        and conv.outs // conv.groups % FILTERS == 0
        and len(conv.kernel) <= MOST_AXES
        and math.prod(conv.kernel) <= MOST_TAPS
        and conv.channels <= MOST_CHANNELS
    )


def emit_grouped(context: LoweringContext, conv: Convolution) -> None:
    """Emit a step that sums over the windows, tile by tile."""
    x = conv.x if conv.x.strides[-1] == conv.x.dtype.itemsize else context.emit.copy(conv.node, conv.x)
    share = conv.channels // conv.groups

    def load() -> Array:
        filters = conv.filters().reshape(-1, FILTERS, share, *conv.kernel)
        return np.moveaxis(filters, (1, 2), (-1, -2))

    weight = context.constants.derived((conv.outs // FILTERS, *conv.kernel, share, FILTERS), x.dtype, load)
    row = math.prod(conv.counts[1:])
    pixels = max(1, context.tuning.epilogue_strip_elements // (row * conv.outs)) * row
    jobs = context.parallelism.product_jobs(conv.macs)
    padding = [before for before, _ in conv.pads]

    def compute(tile: Region, result: Array, buffers: Buffers) -> Iterator[Pass]:
        images = x.array()[tile.first : tile.end]
        image = result.reshape(tile.images, tile.height, *conv.counts[1:], conv.outs)
        yield grouped(images, weight.array(), image, tile.top, conv.stride, conv.dilation, padding)

    emit_tiles(
        context,
        conv.node,
        reads=(x, weight),
        out=conv.out_rows,
        tiles=cut_regions(conv.batch, conv.counts[0], row, pixels, jobs),
        index=conv.whole_channels,
        compute=compute,
        dtype=x.dtype,
        epilogue=conv.epilogue,
    )
