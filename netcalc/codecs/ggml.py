"""Blocks of 32 elements of llama.cpp's ggml; the encoders of q4_0 … q8_0 follow its reference bit by bit.

Source: llama.cpp, ggml/src/ggml-quants.c and ggml-common.h; the library gguf, quants.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs.codec import Shape, Tensors, inverse, magnitude
from netcalc.codecs.planes import Planes
from netcalc.codecs.tables import nearest

_LOW, _HIGH = Planes(1, 2, 16, 4), Planes(4, 8, 1, 1)
#: Numbers of iq4_nl and iq4_xs.
NON_LINEAR = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32)


def half(scales: Array) -> Array:
    """Return numbers as the bytes of float16."""
    with np.errstate(over="ignore"):
        stored: Array = scales.astype(np.float16).reshape(-1, 1).view(np.uint8)
    return stored


def whole(packed: Array) -> Array:
    """Return the numbers of bytes of float16, in a column."""
    numbers: Array = np.ascontiguousarray(packed).view(np.float16).astype(np.float32)
    return numbers


def extreme(values: Array) -> Array:
    """Return the element of the greatest magnitude along the last axis, with its sign."""
    place = np.abs(values).argmax(axis=-1, keepdims=True)
    return np.take_along_axis(values, place, axis=-1)


class Blocks(ABC):
    """A type of blocks along the last axis."""

    rows = 1
    size = 32

    def encode(self, values: Array) -> Tensors:
        """Return the bytes of the blocks."""
        with np.errstate(over="ignore", invalid="ignore"):
            blocks = self.pack(values.reshape(-1, self.size))
        return {"blocks": blocks.reshape(*values.shape[:2], -1)}

    def decode(self, tensors: Tensors, shape: Shape) -> Array:
        """Return the values."""
        per_row = shape[2] // self.size
        packed = tensors["blocks"].reshape(shape[0] * shape[1] * per_row, -1)
        with np.errstate(invalid="ignore"):
            return self.unpack(packed).reshape(shape)

    @abstractmethod
    def pack(self, blocks: Array) -> Array:
        """Return the bytes of blocks, a row each."""

    @abstractmethod
    def unpack(self, packed: Array) -> Array:
        """Return the values of the bytes of blocks."""


class SignedBlock(Blocks):
    """q4_0 and q5_0: a scale that makes the extreme element the least code."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._middle = 1 << (bits - 1)

    def pack(self, blocks: Array) -> Array:
        """Return the scale, the fifth bits, and four bits."""
        scale = extreme(blocks) / np.float32(-self._middle)
        codes = np.trunc(blocks * inverse(scale) + np.float32(self._middle + 0.5)).astype(np.uint8)
        return np.concatenate([half(scale), *_coded(codes.clip(0, 2 * self._middle - 1), self._bits)], axis=-1)

    def unpack(self, packed: Array) -> Array:
        """Return the scale times the shifted codes."""
        codes = _codes(packed[:, 2:], self._bits).astype(np.float32) - np.float32(self._middle)
        values: Array = whole(packed[:, :2]) * codes
        return values


class UnsignedBlock(Blocks):
    """q4_1 and q5_1: a scale and the least element."""

    def __init__(self, bits: int) -> None:
        self._bits = bits

    def pack(self, blocks: Array) -> Array:
        """Return the scale, the least element, the fifth bits, and four bits."""
        top, least = (1 << self._bits) - 1, blocks.min(axis=-1, keepdims=True)
        scale = (blocks.max(axis=-1, keepdims=True) - least) / np.float32(top)
        codes = np.trunc((blocks - least) * inverse(scale) + np.float32(0.5)).astype(np.uint8).clip(0, top)
        return np.concatenate([half(scale), half(least), *_coded(codes, self._bits)], axis=-1)

    def unpack(self, packed: Array) -> Array:
        """Return the scale times the codes, plus the least element."""
        codes = _codes(packed[:, 4:], self._bits).astype(np.float32)
        return whole(packed[:, :2]) * codes + whole(packed[:, 2:4])


def _coded(codes: Array, bits: int) -> list[Array]:
    high = [_HIGH.pack(codes >> np.uint8(4))] if bits == 5 else []
    return [*high, _LOW.pack(codes & np.uint8(15))]


def _codes(packed: Array, bits: int) -> Array:
    if bits == 4:
        return _LOW.unpack(packed)
    codes: Array = _LOW.unpack(packed[:, 4:]) | (_HIGH.unpack(packed[:, :4]) << np.uint8(4))
    return codes


class Q8Block(Blocks):
    """q8_0: a scale and signed bytes, halves rounded away from zero."""

    def pack(self, blocks: Array) -> Array:
        """Return the scale and the bytes."""
        scale = magnitude(blocks) / np.float32(127)
        scaled = blocks * inverse(scale)
        size = np.floor(np.abs(scaled))
        codes = np.sign(scaled) * (size + np.floor(2 * (np.abs(scaled) - size)))
        return np.concatenate([half(scale), codes.astype(np.int8).view(np.uint8)], axis=-1)

    def unpack(self, packed: Array) -> Array:
        """Return the scale times the bytes."""
        codes: Array = np.ascontiguousarray(packed[:, 2:]).view(np.int8).astype(np.float32)
        return codes * whole(packed[:, :2])


class Iq4Nl(Blocks):
    """iq4_nl: a scale that makes the extreme element the least number of a table."""

    def pack(self, blocks: Array) -> Array:
        """Return the scale and the places in the table."""
        scale = half(extreme(blocks) / NON_LINEAR[0])
        return np.concatenate([scale, _LOW.pack(nearest(blocks * inverse(whole(scale)), NON_LINEAR))], axis=-1)

    def unpack(self, packed: Array) -> Array:
        """Return the scale times the numbers."""
        values: Array = whole(packed[:, :2]) * NON_LINEAR[_LOW.unpack(packed[:, 2:])]
        return values
