"""Convolution by im2col: the windows of a tile are copied into rows, which are multiplied with the filters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.lib.stride_tricks import as_strided

from netcalc.arrays import Array
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.conv.geometry import (
    Convolution,
    ConvTile,
    cut_tiles,
    fill_slab,
    in_place,
    input_part,
    slab_shape,
)
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.regions import Region
from netcalc.engine.lower.small_gemm import Chunks, chunks
from netcalc.engine.lower.tiling import emit_tiles
from netcalc.engine.step import Buffers
from netcalc.engine.storage import Slot


def emit_im2col(context: LoweringContext, conv: Convolution) -> None:
    """Emit a step that copies windows and multiplies them, tile by tile."""
    tuning = context.tuning
    depth, width = _depth(conv), math.prod(conv.counts[1:])
    pixels = max(tuning.im2col_least_rows, min(tuning.im2col_most_rows, tuning.im2col_elements // depth))
    jobs = context.parallelism.product_jobs(conv.macs)
    tiles = cut_tiles(conv, conv.counts[0], width, pixels, jobs, tuning)
    images, height = (max(getattr(tile.region, name) for tile in tiles) for name in ("images", "height"))
    rows, columns = images * height * width, tiles[0].channels.stop
    split = None
    if conv.groups == 1:
        split = chunks(rows, depth, columns, context.parallelism.blas_threads, tuning)
    outs = conv.outs // conv.groups
    shape = (conv.groups, depth, outs) if split is None else split.shape(depth, outs)
    weight = context.constants.derived(shape, conv.x.dtype, lambda: _matrix(conv, split))
    emit_tiles(
        context,
        conv.node,
        reads=(conv.x, weight),
        out=conv.out_rows,
        tiles=tiles,
        index=lambda tile: (conv.pixels(tile.region), tile.channels),
        compute=lambda tile, result, buffers: _passes(conv, weight, split, tile, result, buffers),
        buffers={
            "windows": rows * depth,
            "slab": 0 if in_place(conv) else math.prod(slab_shape(conv, images, height)),
            "partial sums": 0 if split is None else split.buffer_elements(rows, depth, columns),
        },
        epilogue=conv.epilogue,
        products=True,
    )


def _passes(
    conv: Convolution, weight: Slot, split: Chunks | None, tile: ConvTile, result: Array, buffers: Buffers
) -> Iterator[Pass]:
    region, channels = tile
    x = conv.x.array()
    if in_place(conv):
        slab = input_part(conv, x, region)
    else:
        slab = buffers.view("slab", slab_shape(conv, region.images, region.height))
        yield from fill_slab(conv, x, region, slab)
    depth, outs = _depth(conv), conv.outs // conv.groups
    for group in range(conv.groups):
        windows = _windows(conv, slab, region, group)
        if math.prod(conv.kernel) == 1 and windows.flags.c_contiguous:
            rows = windows.reshape(len(result), depth)
        else:
            rows = buffers.view("windows", (len(result), depth))
            yield partial(np.copyto, rows.reshape(windows.shape), windows)
        if split is not None:
            yield from split.product(rows, split.part(weight.array(), channels), result, buffers["partial sums"])
        elif conv.groups == 1:
            yield partial(np.matmul, rows, weight.array()[0, :, channels], result)
        else:
            target = result[:, group * outs : (group + 1) * outs]
            yield partial(np.matmul, rows, weight.array()[group], target)


def _depth(conv: Convolution) -> int:
    """Return the elements of a window in one group."""
    return conv.channels // conv.groups * math.prod(conv.kernel)


def _matrix(conv: Convolution, split: Chunks | None) -> Array:
    """Return the filters as (groups, kernel… × in/groups, out/groups): columns in the order of a window in memory."""
    filters, outs = conv.filters(), conv.outs // conv.groups
    matrix = np.moveaxis(filters.reshape(conv.groups, outs, *filters.shape[1:]), (1, 2), (-1, -2))
    return matrix if split is None else split.arranged(matrix.reshape(-1, outs))


def _windows(conv: Convolution, slab: Array, region: Region, group: int) -> Array:
    """Return a view (images, rows…, kernel…, channels of the group) of the windows over a slab."""
    share = conv.channels // conv.groups
    part = slab[..., group * share : (group + 1) * share]
    steps = part.strides[1:-1]
    shape = (region.images, region.height, *conv.counts[1:], *conv.kernel, share)
    strides = (
        part.strides[0],
        *(n * s for n, s in zip(steps, conv.stride, strict=True)),
        *(n * d for n, d in zip(steps, conv.dilation, strict=True)),
        part.strides[-1],
    )
    return as_strided(part, shape, strides, writeable=False)
