"""Scales of parts of a matrix, as they are stored and for each element."""

from __future__ import annotations

from math import prod

import numpy as np

from netcalc.arrays import Array

_BIAS = 127


def scale_values(scales: Array) -> Array:
    """Return scales in float32; bytes are biased exponents of two (E8M0 of OCP MX 1.0, section 5.4).

    Raises:
        ValueError: a scale stands for no number.
    """
    if scales.dtype != np.uint8:
        return scales.astype(np.float32)
    if (scales == 255).any():
        raise ValueError("a scale of 255 stands for no number")
    powers: Array = np.ldexp(np.float32(1), scales.astype(np.int32) - _BIAS)
    return powers


def spread(scales: Array, shape: tuple[int, ...], height: int, width: int) -> Array:
    """Return the scale of each element of a matrix, or of a stack of them, that can be multiplied by it.

    Args:
        scales: one for each tile, or a single one.
        shape: the shape of the matrices.
        height: rows of a tile; the last one may have fewer.
        width: columns of a tile.

    Raises:
        ValueError: there are not as many scales as tiles.
    """
    if scales.size == 1:
        return scales.reshape((1,) * len(shape))
    *lead, rows, columns = shape
    tiles = (*lead, -(-rows // height), -(-columns // width))
    if scales.size != prod(tiles):
        stored = "×".join(map(str, scales.shape))
        raise ValueError(f"{stored} scales are not those of {'×'.join(map(str, tiles))} parts of {height}×{width}")
    tall: Array = scales.reshape(tiles).repeat(height, axis=-2)[..., :rows, :]
    return tall.repeat(width, axis=-1)[..., :columns]
