"""Convolution as a product: the windows of a strip of the image are copied into rows, which the filters multiply."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.lib.stride_tricks import as_strided

from netcalc.engine.lower.context import Lowering
from netcalc.engine.lower.conv.geometry import Convolving, Region, filled, pieces, shaped
from netcalc.engine.lower.epilogue import Pass
from netcalc.engine.lower.small_gemm import Chunks, chunks
from netcalc.engine.step import Job, Scratch, Step
from netcalc.numerics.kernels import Array

__all__ = ["emit_columns"]


def emit_columns(low: Lowering, conv: Convolving) -> None:
    """A step that copies windows and multiplies them, strip by strip."""
    tuning = low.tuning
    share, outs = conv.channels // conv.groups, conv.outs // conv.groups
    depth = share * math.prod(conv.kernel)
    width = math.prod(conv.counts[1:])
    pixels = max(tuning.im2col_least_rows, min(tuning.im2col_most_rows, tuning.im2col_elements // depth))
    parts = pieces(conv, conv.counts[0], width, pixels, low.parallelism.product_jobs(conv.macs), tuning)
    images, height = max(p.region.images for p in parts), max(p.region.height for p in parts)
    rows = images * height * width
    wide = parts[0].channels.stop  # of a job
    split = chunks(rows, depth, wide, low.parallelism.blas_threads, tuning) if conv.groups == 1 else None

    shape = (conv.groups, depth, outs) if split is None else split.shape(depth, outs)
    weight = low.made(shape, conv.x.dtype, lambda: _matrix(conv, split))
    bare = not any(map(any, conv.pads)) and conv.x.strides[-1] == conv.x.dtype.itemsize
    narrow = conv.out.dtype != conv.x.dtype
    sizes = {
        "columns": rows * depth,
        "slab": 0 if bare else math.prod(_slab(conv, images, height)),
        "sums": 0 if split is None else split.room(rows, depth, wide),
        "wide": rows * wide if narrow else 0,
    }
    own = len(conv.epilogue.scratch)
    scratch: list[Scratch] = [*conv.epilogue.scratch, *(((size,), conv.x.dtype) for size in sizes.values())]

    def bind(index: int, arrays: Sequence[Array]) -> Job:
        tile, channels = parts[index]
        room = dict(zip(sizes, arrays[own:], strict=True))
        passes: list[Pass] = []
        x = conv.x.array()
        if bare:
            start = tile.top * conv.stride[0]
            under = x[tile.first : tile.end, start : start + conv.reach(tile.height)]
        else:
            under = shaped(room["slab"], _slab(conv, tile.images, tile.height))
            passes += filled(conv, x, tile, under)
        place = tile.rows(conv)
        goal = conv.out_rows.array()[place, channels]
        y = shaped(room["wide"], goal.shape) if narrow else goal
        count = place.stop - place.start
        for group in range(conv.groups):
            windows = _windows(conv, under, tile, group)
            if math.prod(conv.kernel) == 1 and windows.flags.c_contiguous:
                columns = windows.reshape(count, depth)
            else:
                columns = shaped(room["columns"], (count, depth))
                passes.append(partial(np.copyto, columns.reshape(windows.shape), windows))
            if split is not None:
                passes += split.product(columns, split.part(weight.array(), channels), y, room["sums"])
            elif conv.groups == 1:
                passes.append(partial(np.matmul, columns, weight.array()[0, :, channels], y))
            else:
                target = y[:, group * outs : (group + 1) * outs]
                passes.append(partial(np.matmul, columns, weight.array()[group], target))
        return conv.epilogue.finish(passes, y, goal, place, channels, arrays)

    reads = (conv.x, weight, *conv.epilogue.reads)
    low.emit(Step(conv.node, reads, (conv.out,), len(parts), bind, scratch, products=True))


def _matrix(conv: Convolving, split: Chunks | None) -> Array:
    """(groups, kernel… × in/groups, out/groups): a filter is a column, in the order of the bytes of a window."""
    filters, outs = conv.filters(), conv.outs // conv.groups
    matrix = np.moveaxis(filters.reshape(conv.groups, outs, *filters.shape[1:]), (1, 2), (-1, -2))
    return matrix if split is None else split.arranged(matrix.reshape(-1, outs))


def _slab(conv: Convolving, images: int, height: int) -> tuple[int, ...]:
    """The shape of the padded input under so many rows of so many images."""
    others = (conv.reach(count, axis) for axis, count in enumerate(conv.counts) if axis)
    return (images, conv.reach(height), *others, conv.channels)


def _windows(conv: Convolving, slab: Array, tile: Region, group: int) -> Array:
    """A view (images, rows…, kernel…, channels of the group) of the windows over a slab."""
    share = conv.channels // conv.groups
    part = slab[..., group * share : (group + 1) * share]
    steps = part.strides[1:-1]
    shape = (tile.images, tile.height, *conv.counts[1:], *conv.kernel, share)
    strides = (
        part.strides[0],
        *(n * s for n, s in zip(steps, conv.stride, strict=True)),
        *(n * d for n, d in zip(steps, conv.dilation, strict=True)),
        part.strides[-1],
    )
    return as_strided(part, shape, strides, writeable=False)
