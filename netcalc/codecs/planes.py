"""Codes of a few bits packed into bytes and words, in both directions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from netcalc.arrays import Array


class Planes(NamedTuple):
    """An order of codes in bytes: code (part, shift, lane) is in byte (part, lane), at bit ``shift·bits``.

    Rows of ``parts·shifts·lanes`` codes become rows of ``parts·lanes`` bytes.
    """

    parts: int
    shifts: int
    lanes: int
    bits: int

    def pack(self, codes: Array) -> Array:
        """Return the bytes of rows of codes."""
        planes = codes.astype(np.uint8).reshape(-1, self.parts, self.shifts, self.lanes)
        packed = np.zeros((len(planes), self.parts, self.lanes), np.uint8)
        for shift in range(self.shifts):
            packed |= planes[:, :, shift] << np.uint8(self.bits * shift)
        return packed.reshape(len(planes), -1)

    def unpack(self, packed: Array) -> Array:
        """Return the codes in rows of bytes."""
        rows = packed.reshape(-1, self.parts, 1, self.lanes)
        shifts = np.arange(self.shifts, dtype=np.uint8).reshape(1, 1, -1, 1) * np.uint8(self.bits)
        codes: Array = (rows >> shifts) & np.uint8((1 << self.bits) - 1)
        return codes.reshape(len(rows), -1)


def unpack_bytes(packed: Array, bits: int) -> Array:
    """Return the codes of 2 or 4 bits along the last axis of bytes, the lowest bits first."""
    codes = Planes(1, 8 // bits, 1, bits).unpack(packed.view(np.uint8).reshape(-1, 1))
    return codes.reshape(*packed.shape[:-1], packed.shape[-1] * (8 // bits))


def pack_words(codes: Array, bits: int) -> Array:
    """Return codes along the last axis as int32 words, without gaps, the lowest bits first."""
    count = codes.shape[-1]
    planes = np.unpackbits(codes.astype(np.uint8)[..., None], axis=-1, count=bits, bitorder="little")
    stream = planes.reshape(*codes.shape[:-1], count * bits)
    missing = -count * bits % 32
    padding = [(0, 0)] * (stream.ndim - 1) + [(0, missing)]
    packed = np.packbits(np.pad(stream, padding), axis=-1, bitorder="little")
    words: Array = packed.view("<i4")
    return words


def unpack_words(words: Array, bits: int, count: int) -> Array:
    """Return the first ``count`` codes along the last axis of words, in bytes if these hold them, or in 32 bits."""
    packed = np.ascontiguousarray(words).view(np.uint8)
    stream = np.unpackbits(packed, axis=-1, count=count * bits, bitorder="little")
    planes = np.packbits(stream.reshape(*words.shape[:-1], count, bits), axis=-1, bitorder="little")
    if bits <= 8:
        return planes[..., 0]
    codes: Array = np.pad(planes, [(0, 0)] * words.ndim + [(0, 4 - planes.shape[-1])]).view("<u4")[..., 0]
    return codes


def unpack_lines(packed: Array, bits: int, count: int, *, descending: bool = False) -> Array:
    """Return ``count`` lines of codes of at most 8 bits, of which equal parts share the bits of bytes or words.

    The first part is in the lowest bits, or with ``descending`` in the highest.

    Raises:
        ValueError: if there are fewer lines.
    """
    words = np.ascontiguousarray(packed).view(np.dtype(f"u{packed.itemsize}"))
    parts = 8 * packed.itemsize // bits
    if len(words) * parts < count:
        raise ValueError(f"{len(words):,} lines of {8 * packed.itemsize} bits hold no {count:,} of {bits}")
    shifts = [bits * part for part in range(parts)]
    mask = words.dtype.type((1 << bits) - 1)
    codes = np.concatenate([(words >> words.dtype.type(shift)) & mask for shift in shifts[:: -1 if descending else 1]])
    return codes[:count].astype(np.uint8, copy=False)
