"""Super-blocks of 256 elements of llama.cpp's ggml, whose groups have scales of a few bits.

The layouts are ggml's.  Its encoder searches for scales with a small squared error; here a group's scale follows
from its least and greatest, or its extreme element.

Source: llama.cpp, ggml/src/ggml-quants.c and ggml-common.h; the library gguf, quants.py.
"""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs.codec import inverse
from netcalc.codecs.ggml import NON_LINEAR, Blocks, extreme, half, whole
from netcalc.codecs.planes import Planes
from netcalc.codecs.tables import nearest

_SIX = 63


def _minima(groups: Array, top: int, most: int) -> tuple[Array, Array, Array, Array, Array]:
    """Return codes, their scales and minima as numbers up to ``most``, and the bytes of the scales of both.

    An element is scale·code − minimum; the minimum of a group without negative elements is 0.
    """
    low = np.minimum(groups.min(axis=-1), 0)
    spans = (np.maximum(groups.max(axis=-1), 0) - low) / np.float32(top)
    outer, offset = (half(part.max(axis=-1) / np.float32(most)) for part in (spans, -low))
    scales = np.rint(spans * inverse(whole(outer))).clip(0, most)
    minima = np.rint(-low * inverse(whole(offset))).clip(0, most)
    step, shift = (whole(outer) * scales)[..., None], (whole(offset) * minima)[..., None]
    codes = np.rint((groups + shift) * inverse(step)).clip(0, top)
    return codes.astype(np.uint8), scales.astype(np.uint8), minima.astype(np.uint8), outer, offset


def _signed(groups: Array, middle: int, most: int) -> tuple[Array, Array, Array]:
    """Return codes shifted by ``middle``, signed scales up to ``most``, and the bytes of the scale of the scales."""
    spans = extreme(groups)[..., 0] / np.float32(-middle)
    outer = half(np.abs(spans).max(axis=-1) / np.float32(most))
    scales = np.rint(spans * inverse(whole(outer))).clip(-most - 1, most)
    step = (whole(outer) * scales)[..., None]
    codes = np.rint(groups * inverse(step)).clip(-middle, middle - 1) + middle
    return codes.astype(np.uint8), scales.astype(np.int8), outer


class Q2K(Blocks):
    """q2_k: 16 groups with 4 bits of scale and 4 of minimum."""

    size = 256
    _codes = Planes(2, 4, 32, 2)

    def pack(self, blocks: Array) -> Array:
        """Return scales and minima, codes, and the scales of both."""
        codes, scales, minima, outer, offset = _minima(blocks.reshape(-1, 16, 16), 3, 15)
        return np.concatenate([scales | (minima << np.uint8(4)), self._codes.pack(codes), outer, offset], axis=-1)

    def unpack(self, packed: Array) -> Array:
        """Return scale·code − minimum."""
        both, outer, offset = packed[:, :16], whole(packed[:, 80:82]), whole(packed[:, 82:84])
        codes = self._codes.unpack(packed[:, 16:80]).reshape(-1, 16, 16).astype(np.float32)
        scales, minima = (outer * (both & np.uint8(15)))[..., None], (offset * (both >> np.uint8(4)))[..., None]
        values: Array = scales * codes - minima
        return values.reshape(-1, 256)


class Q3K(Blocks):
    """q3_k: 16 groups with 6 bits of signed scale."""

    size = 256
    _low, _high = Planes(2, 4, 32, 2), Planes(1, 8, 32, 1)
    _low_scales, _high_scales = Planes(1, 2, 8, 4), Planes(1, 4, 4, 2)

    def pack(self, blocks: Array) -> Array:
        """Return third bits, codes, scales, and their scale."""
        codes, scales, outer = _signed(blocks.reshape(-1, 16, 16), 4, 31)
        shifted = (scales + np.int8(32)).astype(np.uint8)
        return np.concatenate(
            [
                self._high.pack(codes >> np.uint8(2)),
                self._low.pack(codes & np.uint8(3)),
                self._low_scales.pack(shifted & np.uint8(15)),
                self._high_scales.pack(shifted >> np.uint8(4)),
                outer,
            ],
            axis=-1,
        )

    def unpack(self, packed: Array) -> Array:
        """Return scale·code."""
        codes = self._low.unpack(packed[:, 32:96]) | (self._high.unpack(packed[:, :32]) << np.uint8(2))
        shifted = self._low_scales.unpack(packed[:, 96:104]) | (
            self._high_scales.unpack(packed[:, 104:108]) << np.uint8(4)
        )
        scales = whole(packed[:, 108:110]) * (shifted.astype(np.float32) - np.float32(32))
        values: Array = scales[..., None] * (codes.reshape(-1, 16, 16).astype(np.float32) - np.float32(4))
        return values.reshape(-1, 256)


class UnsignedK(Blocks):
    """q4_k and q5_k: 8 groups with 6 bits of scale and 6 of minimum."""

    size = 256
    _low, _high = Planes(4, 2, 32, 4), Planes(1, 8, 32, 1)

    def __init__(self, bits: int) -> None:
        self._bits = bits

    def pack(self, blocks: Array) -> Array:
        """Return the scales of both, scales and minima, fifth bits, and four bits."""
        codes, scales, minima, outer, offset = _minima(blocks.reshape(-1, 8, 32), (1 << self._bits) - 1, _SIX)
        high = [self._high.pack(codes >> np.uint8(4))] if self._bits == 5 else []
        low = self._low.pack(codes & np.uint8(15))
        return np.concatenate([outer, offset, _packed_scales(scales, minima), *high, low], axis=-1)

    def unpack(self, packed: Array) -> Array:
        """Return scale·code − minimum."""
        scales, minima = _parted(packed[:, 4:16])
        codes = self._low.unpack(packed[:, 16 if self._bits == 4 else 48 :])
        if self._bits == 5:
            codes = codes | (self._high.unpack(packed[:, 16:48]) << np.uint8(4))
        step, shift = whole(packed[:, :2]) * scales, whole(packed[:, 2:4]) * minima
        values: Array = step[..., None] * codes.reshape(-1, 8, 32).astype(np.float32) - shift[..., None]
        return values.reshape(-1, 256)


def _packed_scales(scales: Array, minima: Array) -> Array:
    """Return 8 scales and 8 minima of 6 bits in 12 bytes: the upper two bits of the later four are beside the first."""
    first, second = (part[:, :4] | ((part[:, 4:] >> np.uint8(4)) << np.uint8(6)) for part in (scales, minima))
    rest = (scales[:, 4:] & np.uint8(15)) | ((minima[:, 4:] & np.uint8(15)) << np.uint8(4))
    return np.concatenate([first, second, rest], axis=-1)


def _parted(packed: Array) -> tuple[Array, Array]:
    first, second, rest = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    scales = [first & np.uint8(63), (rest & np.uint8(15)) | ((first >> np.uint8(2)) & np.uint8(48))]
    minima = [second & np.uint8(63), (rest >> np.uint8(4)) | ((second >> np.uint8(2)) & np.uint8(48))]
    return np.concatenate(scales, axis=-1), np.concatenate(minima, axis=-1)


class Q6K(Blocks):
    """q6_k: 16 groups with 8 bits of signed scale."""

    size = 256
    _low, _high = Planes(2, 2, 64, 4), Planes(2, 4, 32, 2)

    def pack(self, blocks: Array) -> Array:
        """Return four bits, two bits, scales, and their scale."""
        codes, scales, outer = _signed(blocks.reshape(-1, 16, 16), 32, 127)
        low, high = self._low.pack(codes & np.uint8(15)), self._high.pack(codes >> np.uint8(4))
        return np.concatenate([low, high, scales.view(np.uint8), outer], axis=-1)

    def unpack(self, packed: Array) -> Array:
        """Return scale·code."""
        codes = self._low.unpack(packed[:, :128]) | (self._high.unpack(packed[:, 128:192]) << np.uint8(4))
        scales = np.ascontiguousarray(packed[:, 192:208]).view(np.int8).astype(np.float32)
        step = (whole(packed[:, 208:210]) * scales)[..., None]
        values: Array = step * (codes.reshape(-1, 16, 16).astype(np.float32) - np.float32(32))
        return values.reshape(-1, 256)


class Iq4Xs(Blocks):
    """iq4_xs: 8 groups of numbers of a table, with 6 bits of signed scale."""

    size = 256
    _codes = Planes(8, 2, 16, 4)
    _low_scales, _high_scales = Planes(4, 2, 1, 4), Planes(2, 4, 1, 2)

    def pack(self, blocks: Array) -> Array:
        """Return the scale of the scales, scales, and places in the table."""
        groups = blocks.reshape(-1, 8, 32)
        spans = extreme(groups)[..., 0] / NON_LINEAR[0]
        outer = half(np.abs(spans).max(axis=-1) / np.float32(31))
        scales = np.rint(spans * inverse(whole(outer))).clip(-32, 31)
        codes = nearest(groups * inverse(whole(outer) * scales)[..., None], NON_LINEAR)
        shifted = (scales + 32).astype(np.uint8)
        high, low = self._high_scales.pack(shifted >> np.uint8(4)), self._low_scales.pack(shifted & np.uint8(15))
        return np.concatenate([outer, high, low, self._codes.pack(codes)], axis=-1)

    def unpack(self, packed: Array) -> Array:
        """Return scale·number."""
        low, high = self._low_scales.unpack(packed[:, 4:8]), self._high_scales.unpack(packed[:, 2:4])
        scales = (low | (high << np.uint8(4))).astype(np.float32) - np.float32(32)
        step = (whole(packed[:, :2]) * scales)[..., None]
        values: Array = step * NON_LINEAR[self._codes.unpack(packed[:, 8:])].reshape(-1, 8, 32)
        return values.reshape(-1, 256)
