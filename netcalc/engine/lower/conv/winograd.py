"""Convolution with 3×3 filters by Winograd's minimal filtering F(2×2, 3×3): 16 products where there were 36.

Lavin & Gray 2016, "Fast Algorithms for Convolutional Neural Networks", arXiv:1509.09308.  Tiles of 4×4 pixels that
overlap by two are transformed (additions alone), multiplied with transformed filters place by place, which is 16
products of (tiles, channels) with (channels, filters), and transformed back to 2×2 pixels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np
from numpy.lib.stride_tricks import as_strided

from netcalc.engine.lower.context import Lowering
from netcalc.engine.lower.conv.geometry import Convolving, Region, pieces, shaped
from netcalc.engine.lower.epilogue import Pass
from netcalc.engine.lower.small_gemm import blocks
from netcalc.engine.step import Job, Scratch, Scratches, Step
from netcalc.numerics.kernels import Array

__all__ = ["emit_winograd", "pays"]

#: The transform of a filter: G·g·Gᵀ.
_FILTER = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
#: The same of a filter written as nine numbers: the places of the tile, row by row.
_BOTH = np.kron(_FILTER, _FILTER)


def pays(low: Lowering, conv: Convolving) -> bool:
    """Whether this convolution can be done so, is likely to be faster, and memory is granted for its filters."""
    tuning = low.tuning
    if not tuning.winograd:
        return False
    if conv.kernel != (3, 3) or conv.stride != (1, 1) or conv.dilation != (1, 1) or conv.groups != 1:
        return False
    pixels = conv.batch * math.prod(conv.counts)
    tiles = conv.batch * math.prod(-(-count // 2) for count in conv.counts)
    filters = conv.channels * conv.outs
    direct = (
        9 * filters * (pixels + tuning.winograd_packing_cost) + tuning.winograd_pass_cost * 9 * pixels * conv.channels
    )
    minimal = 16 * filters * (tiles + tuning.winograd_packing_cost) + tuning.winograd_pass_cost * tiles * (
        32 * conv.channels + 24 * conv.outs
    )
    return minimal < direct and low.afford(7 * filters * conv.x.dtype.itemsize)


def emit_winograd(low: Lowering, conv: Convolving) -> None:
    """A step that transforms, multiplies and transforms back, strip by strip of tiles."""
    tuning, channels, outs = low.tuning, conv.channels, conv.outs
    down, across = (-(-count // 2) for count in conv.counts)
    count = max(tuning.winograd_least_tiles, tuning.winograd_elements // (16 * (channels + outs)))
    parts = pieces(conv, down, across, count, low.parallelism.product_jobs(conv.macs), tuning)
    most = max(part.region.images * part.region.height for part in parts)
    own_outs = parts[0].channels.stop  # of a job
    _, width = blocks(most * across, channels, own_outs, low.parallelism.blas_threads, tuning)
    weight = low.made(
        (16, outs // width, channels, width), conv.x.dtype, lambda: _transformed(conv, width, tuning.winograd_filters)
    )
    slabs = max(math.prod(_slab(part.region, across, channels)) for part in parts)
    lines = max(math.prod(_lines(part.region, across, channels)) for part in parts)
    first = max(lines, 16 * most * across * own_outs)
    second = most * across * max(16 * channels, 14 * own_outs)
    narrow = conv.out.dtype != conv.x.dtype
    sizes = [slabs, first, second, *([4 * most * across * own_outs] if narrow else [])]
    own = len(conv.epilogue.scratch)
    scratch: list[Scratch] = [*conv.epilogue.scratch, *(((size,), conv.x.dtype) for size in sizes)]

    def middle(tile: Region, columns: slice, slab: Array, one: Array, other: Array) -> tuple[list[Pass], Array]:
        """The passes from a filled slab to the pixels, and those."""
        shape, outs = (tile.images, tile.height, across), columns.stop - columns.start
        tiled, rows = shaped(other, (4, 4, *shape, channels)), math.prod(shape)
        products = shaped(one, (16, rows, outs))
        height, _ = blocks(rows, channels, width, low.parallelism.blas_threads, tuning)
        # (places, blocks of columns, blocks of rows, rows, …)
        flat = tiled.reshape(16, 1, rows // height, height, channels)
        goals = products.reshape(16, rows // height, height, outs // width, width).transpose(0, 3, 1, 2, 4)
        filters = weight.array()[:, columns.start // width : columns.stop // width, None]
        room = shaped(other, (14, *shape, outs))
        passes: list[Pass] = [
            *_forth(slab, shaped(one, _lines(tile, across, channels)), tiled),
            partial(np.matmul, flat, filters, goals),
            *_back(products.reshape(4, 4, *shape, outs), room),
        ]
        return passes, room[10:].reshape(2, 2, *shape, outs)

    def bind(index: int, arrays: Scratches) -> Job:
        tile, columns = parts[index]
        pixels = tile._replace(top=2 * tile.top, bottom=min(2 * tile.bottom, conv.counts[0]))
        slab = shaped(arrays[own], _slab(tile, across, channels))
        alike = tile.images, tile.height, columns.start
        if alike not in arrays.common:
            arrays.common[alike] = middle(tile, columns, slab, *arrays[own + 1 : own + 3])
        between, found = arrays.common[alike]
        place = pixels.rows(conv)
        goal = conv.out_rows.array()[place, columns]
        y = shaped(arrays[own + 3], goal.shape) if narrow else goal
        image = _unflattened(y, (tile.images, pixels.height, *conv.counts[1:], found.shape[-1]))
        passes = [*_filled(conv, conv.x.array(), pixels, slab), *between]
        for row, column in product(range(2), range(2)):
            part = image[:, row::2, column::2]  # what reaches past its end is dropped
            passes.append(partial(np.copyto, part, found[row, column, :, : part.shape[1], : part.shape[2]]))
        return conv.epilogue.finish(passes, y, goal, place, columns, arrays)

    reads = (conv.x, weight, *conv.epilogue.reads)
    low.emit(Step(conv.node, reads, (conv.out,), len(parts), bind, scratch, products=True))


def _transformed(conv: Convolving, width: int, filters_at_a_time: int) -> Array:
    """The filters by place in the tile, in blocks of so many."""
    channels, outs = conv.channels, conv.outs
    filters, transformed = conv.filters(), np.empty((16, outs // width, channels, width), conv.x.dtype)
    for block, start in product(range(outs // width), range(0, width, filters_at_a_time)):
        end = min(start + filters_at_a_time, width)
        part = filters[block * width + start : block * width + end].astype(np.float64)  # sums are rounded once
        moved = np.matmul(_BOTH, part.reshape(-1, 9).T).reshape(16, end - start, channels)
        transformed[:, block, :, start:end] = moved.swapaxes(1, 2)
    return transformed


def _slab(tile: Region, across: int, channels: int) -> tuple[int, ...]:
    """(images, even and odd rows, rows, even and odd columns, columns, channels): a stride is a run of bytes."""
    return (tile.images, 2, tile.height + 1, 2, across + 1, channels)


def _lines(tile: Region, across: int, channels: int) -> tuple[int, ...]:
    """(places in a tile's row, images, even and odd rows, rows, tiles across, channels)."""
    return (4, tile.images, 2, tile.height + 1, across, channels)


def _filled(conv: Convolving, x: Array, pixels: Region, slab: Array) -> Iterator[Pass]:
    """Passes that fill a slab with the padded input."""
    heights, widths = (
        _phases(conv.sizes[0], conv.pads[0][0] - pixels.top, slab.shape[2]),
        _phases(conv.sizes[1], conv.pads[1][0], slab.shape[4]),
    )
    yield partial(slab.fill, 0)
    for (row, down, above), (column, across, before) in product(_numbered(heights), _numbered(widths)):
        yield partial(np.copyto, slab[:, row, down, column, across], x[pixels.first : pixels.end, above, before])


def _phases(size: int, pad: int, room: int) -> list[tuple[slice, slice]]:
    """For the even and the odd places of a padded axis: which of them the input covers, and with what."""
    found = []
    for phase in range(2):
        first = max((phase - pad) % 2, phase - pad)  # the first of the input in this phase, from the slab's start on
        start = (first + pad - phase) // 2
        count = max(0, min(len(range(first, size, 2)), room - start))
        found.append((slice(start, start + count), slice(first, first + max(0, 2 * count - 1), 2)))
    return found


def _numbered(phases: list[tuple[slice, slice]]) -> list[tuple[int, slice, slice]]:
    return [(phase, *slices) for phase, slices in enumerate(phases)]


def _forth(slab: Array, lines: Array, tiles: Array) -> Iterator[Pass]:
    """Bᵀ·d·B of every tile d: first along its rows, then along its columns."""
    across, height = lines.shape[4], tiles.shape[3]
    columns = [slab[:, :, :, j % 2, j // 2 : j // 2 + across] for j in range(4)]
    rows = [lines[:, :, i % 2, i // 2 : i // 2 + height] for i in range(4)]
    for one, goals in ((columns, lines), (rows, tiles)):
        yield partial(np.subtract, one[0], one[2], goals[0])
        yield partial(np.add, one[1], one[2], goals[1])
        yield partial(np.subtract, one[2], one[1], goals[2])
        yield partial(np.subtract, one[1], one[3], goals[3])


def _back(products: Array, room: Array) -> Iterator[Pass]:
    """Aᵀ·m·A of every tile m, into the last four of the room."""
    sums, pair, pixels = (room[a:b].reshape(2, -1, *room.shape[1:]) for a, b in ((0, 8), (8, 10), (10, 14)))
    yield partial(np.add, products[1], products[2], sums[0])
    yield partial(np.subtract, products[1], products[2], sums[1])
    yield partial(np.add, sums[0], products[0], sums[0])
    yield partial(np.subtract, sums[1], products[3], sums[1])
    for row in range(2):
        yield partial(np.add, sums[row, 1], sums[row, 2], pair[row, 0])
        yield partial(np.subtract, sums[row, 1], sums[row, 2], sums[row, 1])
        yield partial(np.add, sums[row, 0], pair[row, 0], pixels[row, 0])
        yield partial(np.subtract, sums[row, 1], sums[row, 3], pixels[row, 1])


def _unflattened(rows: Array, shape: tuple[int, ...]) -> Array:
    """Rows of pixels as an image, in place even where they are part of wider rows."""
    step, strides = rows.strides[0], [rows.strides[1]]
    for size in reversed(shape[1:-1]):
        strides.insert(0, step)
        step *= size
    return as_strided(rows, shape, (step, *strides))
