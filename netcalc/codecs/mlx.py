"""Integers with a scale and a bias for each group of columns, as mlx stores them."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array, numpy_dtype
from netcalc.codecs.codec import Shape, Tensors, groups_of
from netcalc.codecs.planes import pack_words, unpack_words

#: The least scale (mlx 0.32.4, backend/cpu/quantized.cpp).
_LEAST = np.float32(1e-7)


def affine_values(words: Array, scales: Array, biases: Array, bits: int, columns: int) -> Array:
    """Return code·scale + bias in float32, of words along the columns, with a scale and a bias for each group."""
    codes = unpack_words(words, bits, columns).astype(np.float32).reshape(*scales.shape, -1)
    values: Array = codes * scales.astype(np.float32)[..., None] + biases.astype(np.float32)[..., None]
    return values.reshape(*words.shape[:-1], columns)


class Mlx:
    """Code·scale + bias, in which the extreme element of a group is exact, and 0 if the group has it."""

    rows = 1

    def __init__(self, bits: int, group: int) -> None:
        self._bits = bits
        self._group = group

    def encode(self, values: Array) -> Tensors:
        """Return words along rows, scales and biases."""
        parts, top = groups_of(values, self._group), np.float32((1 << self._bits) - 1)
        low, high = parts.min(axis=-1, keepdims=True), parts.max(axis=-1, keepdims=True)
        below = np.abs(low) > np.abs(high)
        step = np.maximum((high - low) / top, _LEAST)
        scales, edge = np.where(below, step, -step), np.where(below, low, high)
        count = np.rint(edge / scales)
        scales = np.divide(edge, count, out=scales.copy(), where=count != 0)
        stored = [part.astype(numpy_dtype("bfloat16")) for part in (scales, np.where(count != 0, edge, 0))]
        scale, bias = (part.astype(np.float32) for part in stored)
        codes = np.rint((parts - bias) / scale).clip(0, top).reshape(values.shape)
        words = pack_words(codes, self._bits).view(np.uint32)
        return {"values": words, "scales": stored[0][..., 0], "biases": stored[1][..., 0]}

    def decode(self, tensors: Tensors, shape: Shape) -> Array:
        """Return the values."""
        return affine_values(tensors["values"], tensors["scales"], tensors["biases"], self._bits, shape[2])
