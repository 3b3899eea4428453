"""Numbers of compressed-tensors: integers in words and in bytes, and floats of 4 and 8 bits."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs.microscaling import e2m1_unpacked
from netcalc.codecs.planes import unpack_words
from netcalc.codecs.scales import scale_values, spread_tiles, times_groups
from netcalc.weights.packing.decoders.grouped import groups_in_order, groups_named

_WORD = 32


def stored_shape(tensors: Mapping[str, Array]) -> tuple[int, ...] | None:
    """Return the shape in ``.weight_shape``; None if there is none, or an empty one.

    Raises:
        ValueError: it holds no sizes.
    """
    sizes = tensors[".weight_shape"] if ".weight_shape" in tensors else np.zeros(0, np.int64)
    if not np.issubdtype(sizes.dtype, np.integer) or (sizes < 1).any():
        raise ValueError(f"its weight_shape is {sizes.tolist()}")
    return tuple(map(int, sizes.reshape(-1))) or None


def packed_weight(tensors: Mapping[str, Array], shape: tuple[int, ...], bits: int, group_size: int | None) -> Array:
    """Return (code − zero point)·scale of codes in words of 32 bits (pack-quantized).

    Args:
        tensors: ``.weight_packed`` (…, rows, words), ``.weight_scale`` (…, rows, groups) or one for all,
            ``.weight_zero_point`` as the scales are, or packed along the rows, and, if columns are in an order of their
            own, the group of each in ``.weight_g_idx``.
        shape: (…, rows, columns).
        bits: bits of a code.  Codes are 2^(bits − 1) more than the integers, and so are packed zero points.
        group_size: columns of a group; None or −1 for all.

    Words have no gaps, or, as earlier versions write them, as many codes as fit.

    Source: compressed-tensors 0.20.0, compressors/pack_quantized; 0.9.4, quantized_compressors/pack_quantized.py and
    quantization/lifecycle/forward.py (weight_g_idx).
    """
    *lead, rows, columns = shape
    words = tensors[".weight_packed"]
    if words.shape[:-1] != (*lead, rows):
        raise ValueError(f"{'×'.join(map(str, words.shape))} words are not those of {'×'.join(map(str, shape))} codes")
    per_word = _codes_in_word(words.shape[-1], columns, bits)
    codes = _codes(words, columns, bits, per_word)
    scales, zeros = tensors[".weight_scale"].astype(np.float32), tensors.get(".weight_zero_point")
    if scales.size == 1:
        groups = np.zeros(columns, np.int64)
        scales = scales.reshape((1,) * len(shape))
    elif (order := tensors.get(".weight_g_idx")) is None or (order < 0).any():  # −1 stands for an order that is not set
        groups = groups_in_order(columns, group_size, scales.shape[-1])
    else:
        groups = groups_named(order, scales.shape[-1])
    if zeros is None:
        return codes * scales[..., groups]
    if zeros.dtype == np.int32:
        zeros = _codes(zeros.swapaxes(-1, -2), rows, bits, per_word).swapaxes(-1, -2)
    if zeros.size != scales.size:
        raise ValueError(f"{scales.size} scales have {zeros.size} zero points")
    return (codes - zeros.astype(np.float32).reshape(scales.shape)[..., groups]) * scales[..., groups]


def float4_weight(tensors: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """Return number·scale of floats of 4 bits (e2m1), in groups of columns.

    Args:
        tensors: ``.weight_packed`` with two codes in a byte, the first in the low bits, ``.weight_scale`` (…, groups),
            numbers or bytes with exponents, and ``.weight_global_scale``, by which these are divided.
        shape: (…, columns).

    Source: compressed-tensors 0.20.0, compressors/nvfp4 and compressors/mxfp4.
    """
    zeros = tensors.get(".weight_zero_point")
    if zeros is not None and zeros.astype(np.float32).any():
        raise ValueError("floats of 4 bits have no zero points")
    scales, outer = scale_values(tensors[".weight_scale"]), tensors.get(".weight_global_scale")
    if outer is not None:
        if not outer.all():
            raise ValueError("its weight_global_scale is 0")
        rows, groups = scales.shape[-2:]
        scales = scales / _spread(outer.astype(np.float32), scales.shape, (rows, groups))
    return times_groups(e2m1_unpacked(tensors[".weight_packed"]), scales)


def plain_weight(
    tensors: Mapping[str, Array],
    shape: tuple[int, ...],
    strategy: str,
    group_size: int | None,
    block_structure: Any,
) -> Array:
    """Return (number − zero point)·scale of numbers that are elements of the tensor.

    Args:
        tensors: ``.weight`` (…, rows, columns), ``.weight_scale`` with a number, or a byte with an exponent, for
            the tensor, for each row, for groups of its columns or for blocks, and ``.weight_zero_point``, as the scales
            are.
        shape: (…, rows, columns).
        strategy: tensor, channel, group or block.
        group_size: columns of a group.
        block_structure: rows and columns of a block, a list or two numbers with an x between them.

    Source: compressed-tensors 0.20.0, compressors/naive_quantized, compressors/mxfp8 and
    quantization/lifecycle/forward_helpers.py.
    """
    rows, columns = shape[-2:]
    if strategy == "block":
        tile = _block(block_structure)
    else:
        tile = rows if strategy == "tensor" else 1, group_size if strategy == "group" and group_size else columns
    numbers: Array = tensors[".weight"].astype(np.float32)
    zeros = tensors.get(".weight_zero_point")
    if zeros is not None:
        numbers = numbers - _spread(zeros.astype(np.float32), shape, tile)
    return numbers * _spread(scale_values(tensors[".weight_scale"]), shape, tile)


def _codes_in_word(words: int, count: int, bits: int) -> int | None:
    """Return how many codes a word has; None if they follow each other without gaps.

    Raises:
        ValueError: as many words would be needed otherwise, or it is not clear in which of both ways.
    """
    most = _WORD // bits
    without_gaps, with_gaps = words == -(-count * bits // _WORD), words == -(-count // most)
    if not without_gaps and not with_gaps:
        raise ValueError(f"{count} codes of {bits} bits do not take {words} words")
    if without_gaps and with_gaps and _WORD % bits and words > 1:
        raise ValueError(f"{count} codes of {bits} bits take {words} words with gaps and without")
    return None if without_gaps else most


def _codes(words: Array, count: int, bits: int, per_word: int | None) -> Array:
    """Return integers along the last axis of words, in float32."""
    expected = -(-count * bits // _WORD) if per_word is None else -(-count // per_word)
    if words.shape[-1] != expected:
        raise ValueError(f"{count} codes of {bits} bits take {expected} words, not {words.shape[-1]}")
    if per_word is None:
        codes = unpack_words(words, bits, count)
    else:
        codes = unpack_words(words[..., None], bits, per_word).reshape(*words.shape[:-1], -1)[..., :count]
    return codes.astype(np.float32) - np.float32(1 << (bits - 1))


def _spread(scales: Array, shape: tuple[int, ...], tile: tuple[int, int]) -> Array:
    """Return the scale of each element by the rows and columns of a tile, or the one that counts for all.

    Raises:
        ValueError: there are not as many scales as tiles.
    """
    if scales.size == 1:
        return scales.reshape((1,) * len(shape))
    *lead, rows, columns = shape
    tiles = (*lead, -(-rows // tile[0]), -(-columns // tile[1]))
    if scales.size != prod(tiles):
        raise ValueError(f"scales of shape {scales.shape} are not those of {tiles} tiles")
    return spread_tiles(scales.reshape(tiles), shape, tile)


def _block(structure: Any) -> tuple[int, int]:
    """Return rows and columns of a block."""
    sizes = structure.split("x") if isinstance(structure, str) else structure
    try:
        height, width = (int(size) for size in sizes)
    except (TypeError, ValueError) as why:
        raise ValueError(f"the block_structure is {structure}") from why
    if height < 1 or width < 1:
        raise ValueError(f"the block_structure is {structure}")
    return height, width
