"""Numbers of SpQR."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from netcalc.arrays import Array

_TILE, _BITS, _MASK = 16, np.uint64(3), np.uint64(7)


def weight(tensors: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """Return scale·(code − zero point) of tiles of 16 × 16, with outliers added, in float16.

    Source: spqr_quant 0.2.0, inference.QuantizedLinear, inference_kernels/spqr_cuda.cpp (dequantize_compressed) and
    spqr_cuda_kernel.cu for the order of the columns.

    Raises:
        ValueError: outliers are beyond the matrix, or the columns in no order.
    """
    rows, columns = shape
    numbers = _dense(tensors[".dense_weights"], rows, columns)
    lines, places, values = _outliers(tensors[".row_offsets"], tensors[".col_vals"], rows)
    if ((lines >= rows) | (places >= columns)).any():
        raise ValueError(f"outliers are beyond {rows:,} × {columns:,}")
    np.add.at(numbers, (lines, places), values)
    numbers = numbers.astype(np.float16)
    order = tensors.get(".in_perm")
    if order is None or not order.size:
        return numbers
    order = np.ascontiguousarray(order).view("<u2")
    if not np.array_equal(np.sort(order), np.arange(columns)):
        raise ValueError("in_perm is no order of the columns")
    ordered = np.empty_like(numbers)
    ordered[:, order] = numbers
    return ordered


def _dense(words: Array, rows: int, columns: int) -> Array:
    """Return the numbers of tiles, with each step in float16.

    The word of a row of a tile has from its lowest bits the codes of a scale, of a zero point and of 16 weights, and 8
    bits of the 64 that two rows each have of their tile: in float16 the scales of the scales and of the zero points,
    and their zero points.
    """
    tall, wide = -(-rows // _TILE), -(-columns // _TILE)
    tiles = words.view(np.uint64).reshape(tall, wide, _TILE, 1)
    codes = ((tiles >> (np.arange(18, dtype=np.uint64) * _BITS)) & _MASK).astype(np.float16)
    fragments = ((tiles[..., 0] >> np.uint64(54)) & np.uint64(255)).astype(np.uint8)
    whole = fragments[..., ::2] | fragments[..., 1::2]
    factors = np.ascontiguousarray(whole).view("<f2")[:, :, None, :]
    scales = factors[..., 0] * (codes[..., 0] - factors[..., 2])
    zeros = factors[..., 1] * (codes[..., 1] - factors[..., 3])
    numbers = scales[..., None] * (codes[..., 2:] - zeros[..., None])
    whole_rows: Array = numbers.swapaxes(1, 2).reshape(tall * _TILE, wide * _TILE).astype(np.float32)
    return whole_rows[:rows, :columns]


def _outliers(offsets: Array, packed: Array, rows: int) -> tuple[Array, Array, Array]:
    """Return rows, columns and values of outliers, whose words have the column in the low half.

    There are offsets for rows, or for 16 of them, whose outliers then alternate.
    """
    pairs = np.ascontiguousarray(packed).view("<u2").reshape(-1, 2)
    counts: Array = np.diff(offsets.astype(np.int64))
    if (counts < 0).any() or offsets[0] != 0 or offsets[-1] != len(pairs):
        raise ValueError(f"row_offsets do not divide the {len(pairs):,} outliers")
    lines = np.repeat(np.arange(len(counts)), counts)
    if len(counts) != rows:
        lines = lines * _TILE + np.arange(len(pairs)) % _TILE
    return lines, pairs[:, 0].astype(np.int64), np.ascontiguousarray(pairs[:, 1]).view("<f2").astype(np.float32)
