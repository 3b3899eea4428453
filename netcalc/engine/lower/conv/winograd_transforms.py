"""Transforms of filters for Winograd's minimal filtering F(2×2, 3×3) and F(4×4, 3×3).

Lavin & Gray 2016, "Fast Algorithms for Convolutional Neural Networks", arXiv:1509.09308.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from netcalc.arrays import Array

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
