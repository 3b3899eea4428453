"""Transforms of Winograd's minimal filtering F(2×2, 3×3), and of filters for F(4×4, 3×3).

Lavin & Gray 2016, "Fast Algorithms for Convolutional Neural Networks", arXiv:1509.09308.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.lower.conv.geometry import Convolution
from netcalc.engine.lower.conv.phases import phase_parts
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.regions import Region

#: Points of F(4×4, 3×3) beside 0 and infinity.  Among eighths they have the smallest rounding errors, about three times
#: the errors of F(2×2, 3×3).
_POINTS = ((5 / 8, 3 / 2), (-5 / 8, 3 / 2), (3 / 2, 5 / 8), (-3 / 2, 5 / 8))
#: Transforms of a filter, G·g·Gᵀ, by the pixels on a side of a tile of the result.
_FILTER = {
    2: np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]]),
    4: np.array(
        [
            [256 / 225, 0, 0],
            *(np.array([1, p, p**2]) / (2 * p**2 * (p**2 - other**2)) for p, other in _POINTS),
            [0, 0, 1],
        ]
    ),
}


def transform_filters(filters: Array, side: int, at_a_time: int, out: Array) -> None:
    """Transform filters, (filters, channels, 3, 3), to (positions in a tile, blocks, channels, filters of a block).

    Args:
        filters: the filters.
        side: pixels on a side of a tile of the result.
        at_a_time: filters of a channel that are transformed at a time.
        out: the transformed filters.
    """
    positions, blocks, channels, width = out.shape
    flat_filter = np.kron(_FILTER[side], _FILTER[side])  # of a filter written as nine numbers
    parts, step = filters.reshape(blocks, width, channels, 9), max(1, at_a_time // width)
    for block, start in product(range(blocks), range(0, channels, step)):
        end = min(start + step, channels)
        part = np.empty((9, end - start, width))  # sums are rounded once
        np.copyto(part, parts[block, :, start:end].transpose(2, 1, 0))
        transformed = np.matmul(flat_filter, part.reshape(9, -1)).reshape(positions, *part.shape[1:])
        np.copyto(out[:, block, start:end], transformed, casting="same_kind")


def fill_phases(conv: Convolution, x: Array, pixels: Region, slab: Array) -> Iterator[Pass]:
    """Yield passes that fill a slab with the padded input, even and odd rows and columns apart."""
    rows = phase_parts(conv.sizes[0], conv.pads[0][0] - pixels.top, 2, slab.shape[2])
    columns = phase_parts(conv.sizes[1], conv.pads[1][0], 2, slab.shape[4])
    images = slice(pixels.first, pixels.end)
    yield partial(slab.fill, 0)
    for (i, (target_rows, origin_rows)), (j, (target_columns, origin_columns)) in product(
        enumerate(rows), enumerate(columns)
    ):
        yield partial(np.copyto, slab[:, i, target_rows, j, target_columns], x[images, origin_rows, origin_columns])


def transform_input(slab: Array, lines: Array, tiles: Array) -> Iterator[Pass]:
    """Yield passes that compute Bᵀ·d·B of every tile d: along its rows into ``lines``, then along its columns."""
    across, height = lines.shape[4], tiles.shape[3]
    columns = [slab[:, :, :, j % 2, j // 2 : j // 2 + across] for j in range(4)]
    rows = [lines[:, :, i % 2, i // 2 : i // 2 + height] for i in range(4)]
    for operand, result in ((columns, lines), (rows, tiles)):
        yield partial(np.subtract, operand[0], operand[2], result[0])
        yield partial(np.add, operand[1], operand[2], result[1])
        yield partial(np.subtract, operand[2], operand[1], result[2])
        yield partial(np.subtract, operand[1], operand[3], result[3])


def transform_output(products: Array, buffer: Array) -> Iterator[Pass]:
    """Yield passes that compute Aᵀ·m·A of every tile m, into the last four of the 14 arrays of the buffer."""
    sums, pair, pixels = (buffer[a:b].reshape(2, -1, *buffer.shape[1:]) for a, b in ((0, 8), (8, 10), (10, 14)))
    yield partial(np.add, products[1], products[2], sums[0])
    yield partial(np.subtract, products[1], products[2], sums[1])
    yield partial(np.add, sums[0], products[0], sums[0])
    yield partial(np.subtract, sums[1], products[3], sums[1])
    for row in range(2):
        yield partial(np.add, sums[row, 1], sums[row, 2], pair[row, 0])
        yield partial(np.subtract, sums[row, 1], sums[row, 2], sums[row, 1])
        yield partial(np.add, sums[row, 0], pair[row, 0], pixels[row, 0])
        yield partial(np.subtract, sums[row, 1], sums[row, 3], pixels[row, 1])
