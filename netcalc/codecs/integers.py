"""Integers with a scale for a tensor, a row or a group of columns, with or without zero points."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs.codec import Plain, Shape, Tensors, groups_of, inverse, magnitude
from netcalc.codecs.planes import pack_words, unpack_words

_MOST = np.float32(127)


class Int8(Plain):
    """Signed bytes with a scale in float32 for each row, or for a tensor."""

    def __init__(self, per_row: bool) -> None:
        self._per_row = per_row
        self.rows = int(per_row)

    def encode(self, values: Array) -> Tensors:
        """Return the values and the greatest magnitudes over 127."""
        greatest = magnitude(values) if self._per_row else np.abs(values).max(initial=0).reshape(1, 1, 1)
        scales = (greatest / _MOST).astype(np.float32)
        codes = np.rint(values * inverse(scales)).clip(-_MOST, _MOST)
        return {"values": codes.astype(np.int8), "scales": scales.reshape(values.shape[:2] if self._per_row else 1)}

    def decode(self, tensors: Tensors, shape: Shape) -> Array:
        """Return the values times their scales."""
        scales = tensors["scales"].reshape(*shape[:2], 1) if self._per_row else tensors["scales"].reshape(1, 1, 1)
        values: Array = tensors["values"].reshape(shape).astype(np.float32)
        return values * scales


class Affine:
    """Codes of a few bits in groups of columns, or in rows: scale·(code − zero point)."""

    def __init__(self, bits: int, group: int | None, *, symmetric: bool) -> None:
        self.bits = bits
        self.group = group
        self.symmetric = symmetric

    def rounded(self, values: Array) -> tuple[Array, Array, Array]:
        """Return codes (matrices, rows, columns), scales in float16 and zero points (matrices, rows, groups).

        Without zero points the scale makes the greatest magnitude the greatest code, and all codes are shifted by
        2^(bits − 1).  With them the codes range from the least element to the greatest, 0 included.
        """
        parts = groups_of(values, self.group or values.shape[-1])
        top, half = (1 << self.bits) - 1, 1 << (self.bits - 1)
        if self.symmetric:
            scales = _half(magnitude(parts) / np.float32(half - 1))
            zeros = np.full(scales.shape, half, np.float32)
        else:
            low, high = np.minimum(parts.min(-1, keepdims=True), 0), np.maximum(parts.max(-1, keepdims=True), 0)
            scales = _half((high - low) / np.float32(top))
            zeros = np.rint(-low * inverse(scales.astype(np.float32))).clip(0, top)
        codes = (np.rint(parts * inverse(scales.astype(np.float32))) + zeros).clip(0, top).astype(np.uint8)
        flat = codes.reshape(*values.shape[:-1], -1)[..., : values.shape[-1]]
        return flat, scales[..., 0], zeros[..., 0].astype(np.uint8)

    def values(self, codes: Array, scales: Array, zeros: Array) -> Array:
        """Return the values of codes."""
        count = codes.shape[-1]
        spread, origin = (part.repeat(self.group or count, axis=-1)[..., :count] for part in (scales, zeros))
        values: Array = spread.astype(np.float32) * (codes.astype(np.float32) - origin.astype(np.float32))
        return values


def _half(scales: Array) -> Array:
    return scales.clip(max=np.finfo(np.float16).max).astype(np.float16)


class IntBytes:
    """Signed bytes with a scale in float16 for a tensor, a row or a group of columns, with or without zero points."""

    def __init__(self, group: int | None, *, per_row: bool = True, symmetric: bool = True) -> None:
        self._codes = Affine(8, group, symmetric=symmetric)
        self._per_row = per_row
        self.rows = int(per_row)

    def encode(self, values: Array) -> Tensors:
        """Return bytes, scales and zero points."""
        codes, scales, zeros = self._codes.rounded(values if self._per_row else values.reshape(1, 1, -1))
        tensors = {"values": _signed(codes).reshape(values.shape), "scales": scales}
        return tensors if self._codes.symmetric else {**tensors, "zero points": _signed(zeros)}

    def decode(self, tensors: Tensors, shape: Shape) -> Array:
        """Return the values."""
        scales = tensors["scales"]
        codes = _unsigned(tensors["values"].reshape(shape if self._per_row else (1, 1, -1)))
        zeros = np.full(scales.shape, 128, np.uint8) if self._codes.symmetric else _unsigned(tensors["zero points"])
        return self._codes.values(codes, scales, zeros).reshape(shape)


def _signed(codes: Array) -> Array:
    """Return codes from 0 to 255 as bytes from −128 to 127."""
    return (codes.astype(np.int16) - 128).astype(np.int8)


def _unsigned(codes: Array) -> Array:
    return (codes.astype(np.int16) + 128).astype(np.uint8)


class IntGroups:
    """Integers packed row by row, as compressed-tensors does (pack-quantized)."""

    rows = 1

    def __init__(self, bits: int, group: int | None, *, symmetric: bool) -> None:
        self._codes = Affine(bits, group, symmetric=symmetric)

    def encode(self, values: Array) -> Tensors:
        """Return words along rows, scales, and zero points in words along columns."""
        codes, scales, zeros = self._codes.rounded(values)
        tensors = {"values": pack_words(codes, self._codes.bits), "scales": scales}
        if not self._codes.symmetric:
            tensors["zero points"] = pack_words(zeros.swapaxes(1, 2), self._codes.bits).swapaxes(1, 2)
        return tensors

    def decode(self, tensors: Tensors, shape: Shape) -> Array:
        """Return the values."""
        codes = unpack_words(tensors["values"].reshape(*shape[:2], -1), self._codes.bits, shape[2])
        scales = tensors["scales"]
        if self._codes.symmetric:
            zeros = np.full(scales.shape, 1 << (self._codes.bits - 1), np.uint8)
        else:
            zeros = unpack_words(tensors["zero points"].swapaxes(1, 2), self._codes.bits, shape[1]).swapaxes(1, 2)
        return self._codes.values(codes, scales, zeros)

    def codes(self, values: Array, shape: Shape) -> Array:
        """Return the codes of all elements."""
        return unpack_words(values.reshape(*shape[:2], -1), self._codes.bits, shape[2]).reshape(-1)

    def packed(self, codes: Array) -> Array:
        """Return a list of codes as bytes without gaps."""
        data: Array = pack_words(codes, self._codes.bits).view(np.uint8)
        return data[: -(-len(codes) * self._codes.bits // 8)]

    def unpacked(self, packed: Array, count: int) -> Array:
        """Return the list of codes in bytes."""
        return unpack_words(np.pad(packed, (0, -len(packed) % 4)), self._codes.bits, count)

    def stored(self, codes: Array, shape: Shape) -> Array:
        """Return the words of the codes of all elements."""
        return pack_words(codes.reshape(shape), self._codes.bits)
