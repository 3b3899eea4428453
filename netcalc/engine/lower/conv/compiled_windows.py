"""Convolutions by the compiled kernels, which read windows in place and take padding as it comes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.conv.geometry import Convolution
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.regions import Region, cut_regions
from netcalc.engine.lower.tiling import emit_tiles
from netcalc.engine.native.library import available, blocks
from netcalc.engine.native.windows import FILTERS, MOST_AXES, MOST_CHANNELS, MOST_TAPS, Geometry, convolution
from netcalc.engine.step import Buffers
from netcalc.engine.tuning import Tuning


def use_compiled_depthwise(conv: Convolution, tuning: Tuning) -> bool:
    """Return True if there is a kernel for one filter for each channel, and it takes this convolution."""
    size = blocks()
    return _takes(conv, tuning) and size is not None and conv.channels >= size.lanes


def use_grouped(conv: Convolution, tuning: Tuning) -> bool:
    """Return True if there is a kernel for groups, it takes these, and copied windows would not be faster."""
    return (
        _takes(conv, tuning)
        and conv.groups > 1
        and conv.channels // conv.groups <= tuning.grouped_channels
        and conv.outs // conv.groups % FILTERS == 0
        and math.prod(conv.kernel) <= MOST_TAPS
        and conv.channels <= MOST_CHANNELS
    )


def _takes(conv: Convolution, tuning: Tuning) -> bool:
    return tuning.compiled and available() and conv.x.dtype == np.float32 and len(conv.kernel) <= MOST_AXES


def emit_compiled_depthwise(context: LoweringContext, conv: Convolution) -> None:
    """Emit a convolution with one filter for each channel, tile by tile."""

    def load() -> Array:
        return np.moveaxis(conv.filters()[:, 0], 0, -1)

    jobs = context.parallelism.pass_jobs(conv.out.elements)
    _emit(context, conv, "depthwise", (*conv.kernel, conv.channels), load, jobs)


def emit_grouped(context: LoweringContext, conv: Convolution) -> None:
    """Emit a convolution with few channels in a group, tile by tile."""
    share = conv.channels // conv.groups

    def load() -> Array:
        filters = conv.filters().reshape(-1, FILTERS, share, *conv.kernel)
        return np.moveaxis(filters, (1, 2), (-1, -2))

    shape = (conv.outs // FILTERS, *conv.kernel, share, FILTERS)
    _emit(context, conv, "grouped", shape, load, context.parallelism.product_jobs(conv.macs))


def windows_of(conv: Convolution) -> Geometry:
    """Return the windows as kernels take them."""
    return Geometry(conv.kernel, conv.stride, conv.dilation, [before for before, _ in conv.pads], conv.groups)


def _emit(
    context: LoweringContext,
    conv: Convolution,
    kernel: str,
    weight_shape: tuple[int, ...],
    load: Callable[[], Array],
    jobs: int,
) -> None:
    """Emit a step of tiles that a kernel computes."""
    x = conv.x if conv.x.strides[-1] == conv.x.dtype.itemsize else context.emit.copy(conv.node, conv.x)
    weight = context.constants.derived(weight_shape, x.dtype, load)
    row = math.prod(conv.counts[1:])
    pixels = max(1, context.tuning.epilogue_strip_elements // (row * conv.outs)) * row

    def compute(tile: Region, result: Array, buffers: Buffers) -> Iterator[Pass]:
        yield convolution(
            kernel,
            x.array()[tile.first : tile.end],
            weight.array(),
            result.reshape(tile.images, tile.height, *conv.counts[1:], conv.outs),
            tile.top,
            windows_of(conv),
        )

    emit_tiles(
        context,
        conv.node,
        reads=(x, weight),
        out=conv.out_rows,
        tiles=cut_regions(conv.batch, conv.counts[0], row, pixels, jobs),
        index=conv.whole_channels,
        compute=compute,
        epilogue=conv.epilogue,
    )
