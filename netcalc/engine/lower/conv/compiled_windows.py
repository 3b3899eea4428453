"""Convolutions by the compiled kernels, which read windows in place and take padding as it comes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.conv.geometry import Convolution, slab_shape
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.regions import Region, cut_regions
from netcalc.engine.lower.tiling import emit_tiles
from netcalc.engine.native.library import available, blocks
from netcalc.engine.native.windows import FILTERS, HALF, MOST_AXES, MOST_TAPS, PIXELS, Geometry, depthwise, grouped
from netcalc.engine.step import Buffers, BufferSpec
from netcalc.engine.tuning import Tuning

#: Images, weight and result of a tile.
_Operands: TypeAlias = tuple[Array, Array, Array]
#: Type of the scratch of places in an image.
PLACE = np.dtype(np.intp)


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
        and (conv.outs // conv.groups % FILTERS == 0 or _in_pairs(conv))
        and math.prod(conv.kernel) <= MOST_TAPS
    )


def _in_pairs(conv: Convolution) -> bool:
    """Return True if the kernel computes two groups together."""
    return conv.groups % 2 == 0 and conv.channels // conv.groups == conv.outs // conv.groups == HALF


def _takes(conv: Convolution, tuning: Tuning) -> bool:
    return tuning.compiled and available() and conv.x.dtype == np.float32 and len(conv.kernel) <= MOST_AXES


def emit_compiled_depthwise(context: LoweringContext, conv: Convolution) -> None:
    """Emit a convolution with one filter for each channel, tile by tile."""

    def load() -> Array:
        return np.moveaxis(conv.filters()[:, 0], 0, -1)

    epilogue = conv.epilogue

    def call(operands: _Operands, tile: Region, buffers: Buffers) -> Pass:
        x, weight, out = operands
        rows = out.reshape(-1, conv.outs)
        own = epilogue.arguments(rows, *conv.whole_channels(tile)) if epilogue.compiled else None
        return depthwise(x, weight, out, tile.top, windows_of(conv), own)

    jobs = context.parallelism.pass_jobs(conv.out.elements)
    _emit(context, conv, ((*conv.kernel, conv.channels), load), call, jobs, finishes=epilogue.compiled)


def emit_grouped(context: LoweringContext, conv: Convolution) -> None:
    """Emit a convolution with few channels in a group, tile by tile."""
    share, pair = conv.channels // conv.groups, _in_pairs(conv)
    wide = blocks() is not None and conv.outs // conv.groups % (2 * FILTERS) == 0
    width = 2 * FILTERS if wide else FILTERS

    def load() -> Array:
        filters = conv.filters().reshape(-1, width, share, *conv.kernel)
        return np.moveaxis(filters, (1, 2), (-1, -2))

    def call(operands: _Operands, tile: Region, buffers: Buffers) -> Pass:
        return grouped(*operands, buffers["slab"], buffers["starts"], tile.top, windows_of(conv))

    def scratch(height: int) -> dict[str, BufferSpec]:
        shape = (*slab_shape(conv, 1, height)[:-1], 2 * share if pair else share)
        windows = height * math.prod(conv.counts[1:])
        return {"slab": (math.prod(shape), conv.x.dtype), "starts": (windows + PIXELS, PLACE)}

    shape = (conv.outs // width, *conv.kernel, share, width)
    _emit(context, conv, (shape, load), call, context.parallelism.product_jobs(conv.macs), scratch)


def windows_of(conv: Convolution) -> Geometry:
    """Return the windows as kernels take them."""
    return Geometry(conv.kernel, conv.stride, conv.dilation, [before for before, _ in conv.pads], conv.groups)


def _emit(
    context: LoweringContext,
    conv: Convolution,
    weight: tuple[tuple[int, ...], Callable[[], Array]],
    call: Callable[[_Operands, Region, Buffers], Pass],
    jobs: int,
    scratch: Callable[[int], dict[str, BufferSpec]] | None = None,
    *,
    finishes: bool = False,
) -> None:
    """Emit a step of tiles that a kernel computes.

    Args:
        weight: shape of the weight, and a function that computes it.
        call: returns the call of the kernel on the operands of a tile.
        scratch: returns the scratch buffers of a tile of so many rows.
        finishes: True if the call does the operations that follow, too.
    """
    x = conv.x if conv.x.strides[-1] == conv.x.dtype.itemsize else context.emit.copy(conv.node, conv.x)
    filters = context.constants.derived(weight[0], x.dtype, weight[1])
    row = math.prod(conv.counts[1:])
    read = math.prod(conv.sizes[1:]) * conv.channels * conv.stride[0]  # for another row of the result
    pixels = max(1, context.tuning.epilogue_strip_elements // max(row * conv.outs, read)) * row
    tiles = cut_regions(conv.batch, conv.counts[0], row, pixels, jobs)

    def compute(tile: Region, result: Array, buffers: Buffers) -> Iterator[Pass]:
        out = result.reshape(tile.images, tile.height, *conv.counts[1:], conv.outs)
        yield call((x.array()[tile.first : tile.end], filters.array(), out), tile, buffers)

    emit_tiles(
        context,
        conv.node,
        reads=(x, filters, *conv.epilogue.reads),
        out=conv.out_rows,
        tiles=tiles,
        index=conv.whole_channels,
        compute=compute,
        buffers=scratch and scratch(max(tile.height for tile in tiles)),
        epilogue=None if finishes else conv.epilogue,
    )
