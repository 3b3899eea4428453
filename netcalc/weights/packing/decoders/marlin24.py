"""Numbers of 2 of 4 neighbours in the order of the Marlin kernel (marlin-24 of compressed-tensors).

Of each four columns two have codes, whose places stand in ``.meta``, two bits each.  Codes are in words in the order in
which the kernel's threads load tiles of 16×16, and the rows of the metadata in the order of CUTLASS.

Source: compressed-tensors 0.9.4, compressors/sparse_quantized_compressors/marlin_24.py, utils/permutations_24.py and
utils/semi_structured_conversions.py.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs.planes import unpack_words
from netcalc.weights.packing.decoders.grouped import groups_in_order

_TILE = 16
_INTERLEAVED = {4: (0, 2, 4, 6, 1, 3, 5, 7), 8: (0, 2, 1, 3)}
#: Places of eight neighbouring scales where there are several groups.
_SCALES = np.array([0, 4, 1, 5, 2, 6, 3, 7])


def weight(tensors: Mapping[str, Array], shape: tuple[int, ...], bits: int, group_size: int | None) -> Array:
    """Return code·scale where there is a code, and 0 elsewhere.

    Args:
        tensors: ``.weight_packed`` (columns/32, words), ``.scale_packed`` (groups, rows) and ``.meta``
            (columns/32, 2·rows).
        shape: (rows, columns).
        bits: 4 or 8; codes are 2^(bits − 1) more than the integers.
        group_size: columns of a group; None or −1 for all.
    """
    rows, columns = shape
    if bits not in _INTERLEAVED:
        raise ValueError(f"the kernel has no codes of {bits} bits")
    if rows % 64 or columns % 32:
        raise ValueError(f"{rows}×{columns} are no tiles of 64 rows and 32 columns")
    scales = tensors[".scale_packed"].astype(np.float32)
    groups = groups_in_order(columns, group_size, len(scales))
    if group_size and 0 < group_size < columns // 2:
        scales = _in_place(scales.reshape(-1, len(_SCALES)), _SCALES).reshape(scales.shape)
    codes = _codes(tensors[".weight_packed"], rows, columns // 2, bits).astype(np.float32) - np.float32(1 << (bits - 1))
    places = _places(tensors[".meta"], rows, columns)
    if (places[..., 0] >= places[..., 1]).any():
        raise ValueError("meta has two codes for a column")
    numbers = np.zeros((rows, columns // 4, 4), np.float32)
    np.put_along_axis(numbers, places, codes.reshape(places.shape), axis=-1)
    return numbers.reshape(shape) * scales[groups].T


def _codes(words: Array, rows: int, kept: int, bits: int) -> Array:
    """Return the codes of each row that are kept, (rows, kept)."""
    flat = unpack_words(words, bits, rows * _TILE)
    order = _order(bits)
    tiles = _in_place(flat.reshape(-1, len(order)), order).reshape(kept // _TILE, rows // _TILE, _TILE, _TILE)
    return tiles.transpose(1, 3, 0, 2).reshape(rows, kept)


def _order(bits: int) -> Array:
    """Return the place in 1,024 codes of each in the words."""
    thread, copy, block, part = np.ix_(range(32), range(4), range(2), range(4))
    row = 2 * (thread % 4) + part % 2 + 8 * (part // 2)
    column = thread // 4
    places = _TILE * row + 256 * (column // 2) + 8 * (column % 2) + 4 * block + copy
    interleaved = _INTERLEAVED[bits]
    order: Array = places.reshape(-1, len(interleaved))[:, interleaved].reshape(-1)
    return order


def _in_place(values: Array, order: Array) -> Array:
    """Return rows of values, each at the place that the order gives it."""
    placed = np.empty_like(values)
    placed[:, order] = values
    return placed


def _places(meta: Array, rows: int, columns: int) -> Array:
    """Return the places of the two codes among each four columns, (rows, columns/4, 2)."""
    if meta.dtype != np.int16:
        raise ValueError(f"meta is {meta.dtype.name}, and should be int16")
    count = columns // 16  # integers of a row
    row, column = np.ix_(range(rows), range(count))
    target = row // 64 * 64 + row % 2 * 2 + row % 8 // 4 + row % 4 // 2 * 32 + row % 64 // 8 * 4
    shift = ((target % 2 == 0) & (column % 2 == 1)).astype(int) - ((target % 2 == 1) & (column % 2 == 0)).astype(int)
    target, source = target + shift, column - shift
    bits = meta.reshape(-1).view(np.uint16)[source // 2 * rows * 2 + target * 2 + source % 2]
    pairs = bits[..., None] >> np.arange(0, 16, 2, dtype=np.uint16) & np.uint16(3)
    places: Array = pairs.reshape(rows, columns // 4, 2).astype(np.int64)
    return places
