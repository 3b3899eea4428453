"""Numbers of HIGGS, whose codes FLUTE packs for its kernels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from netcalc.arrays import Array

_WORD = 16
#: Words of a tile, for all templates of the kernel with 3 bits.
_NARROW, _WIDE = 32, 64
#: Templates of the kernel: in each so many the first ones have wide tiles.
_TEMPLATES = {2: (12, 4), 4: (48, 16)}
#: Rows of a block of 16 in the order of their codes of 3 bits.
_ROWS_OF_3 = (0, 3, 6, 9, 12, 1, 4, 7, 10, 13, 2, 5, 8, 11, 14, 15)
#: Parts of 96 bits, by the half of a pair of columns and one of three words.
_PARTS_OF_3 = (
    ([*range(16)], [*range(30, 46)], [*range(60, 76)]),
    ([*range(16, 30), 90, 91], [*range(46, 60), 92, 93], [*range(76, 90), 94, 95]),
)


def weight(
    tensors: Mapping[str, Array], shape: tuple[int, ...], bits: int, hadamard: int, template: int | None
) -> Array:
    """Return points of a grid, one for the codes of two columns, times scales of groups, transformed back.

    The transform is that of Hadamard of so many columns, to a multiple of which they are padded.

    Args:
        tensors: ``.weight`` (words of 16 rows, padded columns), ``.scales`` (rows, groups) and ``.tables2`` with two
            numbers in the type of the scales for two codes.
        shape: (rows, columns).
        bits: bits of a code.
        hadamard: columns of a transform.
        template: number of the kernel for which codes are packed, in ``tune_metadata``.

    Source: transformers 5.23.0, integrations/higgs.quantize_with_higgs; flute-kernel 0.4.2, utils._pack_2bit,
    _pack_3bit, _pack_4bit and data/qgemm_kernel_raw_generated_configs.pth.

    Raises:
        ValueError: the configuration does not tell how codes are packed, or there are no whole tiles.
    """
    tile = _tile(bits, template)
    codes = _codes_of_3(tensors[".weight"], tile) if bits == 3 else _codes(tensors[".weight"], bits, tile)
    scales = tensors[".scales"]
    table = np.ascontiguousarray(tensors[".tables2"]).view(scales.dtype).astype(np.float32)
    points = table[codes[:, ::2], codes[:, 1::2]].reshape(codes.shape)
    numbers = points * scales.astype(np.float32).repeat(codes.shape[1] // scales.shape[1], axis=1)
    return _transformed(numbers, hadamard)[:, : shape[1]]


def _tile(bits: int, template: int | None) -> int:
    if bits not in _TEMPLATES:
        return _NARROW
    if template is None:
        raise ValueError("tune_metadata of the configuration should say for which kernel (template_id) it is packed")
    every, wide = _TEMPLATES[bits]
    return _WIDE if template % every < wide else _NARROW


def _blocks(words: Array, tile: int) -> Array:
    """Return words of shape (pairs of columns, halves, blocks, tile)."""
    if words.shape[0] % tile or words.shape[1] % 2:
        raise ValueError(f"{words.shape[0]:,} words are no whole tiles of {tile}")
    return np.ascontiguousarray(words.T).view(np.uint16).reshape(words.shape[1] // 2, 2, -1, tile)


def _codes(words: Array, bits: int, tile: int) -> Array:
    """Return codes (rows, columns) of 2 or 4 bits: a word has for several rows, a tile apart, those of two columns."""
    parts = _WORD // bits
    shifts = np.arange(parts, dtype=np.uint16) * np.uint16(bits)
    codes = (_blocks(words, tile)[..., None] >> shifts) & np.uint16((1 << bits) - 1)
    pairs = codes.reshape(*codes.shape[:-1], parts // 2, 2)[..., ::-1]  # the second column is in the low bits
    return _matrix(pairs.transpose(2, 1, 4, 3, 0, 5))


def _codes_of_3(words: Array, tile: int) -> Array:
    """Return codes (rows, columns) of 3 bits, of which 32 are in a word of a first plane and two of a second one."""
    first, second = np.split(words, [len(words) // 3])
    lowest = _blocks(first, tile)[:, :, :, None]
    higher = _blocks(second, 2 * tile)
    planes = np.concatenate([lowest, higher.reshape(*higher.shape[:3], 2, tile)], axis=3)
    bits = np.unpackbits(np.ascontiguousarray(planes)[..., None].view(np.uint8), axis=-1, bitorder="little")
    stream = np.empty((*planes.shape[:1], planes.shape[2], tile, 96), np.uint8)
    for half, parts in enumerate(_PARTS_OF_3):
        for part, places in enumerate(parts):
            stream[..., places] = bits[:, half, :, part]
    codes = np.packbits(stream.reshape(*stream.shape[:-1], 16, 2, 3), axis=-1, bitorder="little")[..., 0]
    pairs = codes[:, :, :, np.argsort(_ROWS_OF_3), ::-1]
    return _matrix(pairs.transpose(1, 3, 2, 0, 4))


def _matrix(codes: Array) -> Array:
    """Return codes (rows, columns) of those whose last two axes are pairs of columns, and the columns of a pair."""
    return codes.reshape(-1, codes.shape[-2] * codes.shape[-1])


def _transformed(numbers: Array, size: int) -> Array:
    """Return the transform of Hadamard, in Sylvester's order and orthonormal, of parts of the columns."""
    if size & (size - 1):
        raise ValueError(f"a transform of {size:,} columns is not known")
    parts = numbers.reshape(-1, size)
    width = 1
    while width < size:
        halves = parts.reshape(len(parts), -1, 2, width)
        parts = np.stack([halves[:, :, 0] + halves[:, :, 1], halves[:, :, 0] - halves[:, :, 1]], axis=2)
        parts = parts.reshape(len(numbers) * numbers.shape[1] // size, size)
        width *= 2
    return (parts / np.float32(np.sqrt(size))).reshape(numbers.shape)
