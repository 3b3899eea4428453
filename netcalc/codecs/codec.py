"""Encoders and decoders of stored parameters.

Values are float32 arrays of shape (matrices, rows, columns); what is stored are arrays by the roles that
``data/schemes`` gives them.  Scales come from the greatest or the extreme elements of a group, without a search
for better ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from netcalc.arrays import Array

#: Stored arrays by role.
Tensors: TypeAlias = Mapping[str, Array]
#: Matrices, rows, columns.
Shape: TypeAlias = tuple[int, int, int]


class Codec(Protocol):
    """A scheme in which parameters are stored.

    ``rows`` is the number of rows, or a divisor of it, that can be encoded apart from others; 0 for all of a tensor.
    """

    @property
    def rows(self) -> int:
        """Rows that belong together."""
        ...

    def encode(self, values: Array) -> Tensors:
        """Return the stored arrays of float32 values of shape (matrices, rows, columns)."""
        ...

    def decode(self, tensors: Tensors, shape: Shape) -> Array:
        """Return the values that stored arrays stand for."""
        ...


@runtime_checkable
class SparseCodec(Codec, Protocol):
    """A scheme that has a layout without the elements that pruning removes: each element has a code of its own."""

    def codes(self, values: Array, shape: Shape) -> Array:
        """Return the codes of all elements in the stored array of values."""
        ...

    def packed(self, codes: Array) -> Array:
        """Return the stored array of a list of codes without gaps."""
        ...

    def unpacked(self, packed: Array, count: int) -> Array:
        """Return the list of codes in a stored array without gaps."""
        ...

    def stored(self, codes: Array, shape: Shape) -> Array:
        """Return the stored array of values of the codes of all elements."""
        ...


class Plain:
    """Codes that are elements of the stored array."""

    rows = 1

    def codes(self, values: Array, shape: Shape) -> Array:
        """Return the elements."""
        return values.reshape(-1)

    def packed(self, codes: Array) -> Array:
        """Return the elements."""
        return codes

    def unpacked(self, packed: Array, count: int) -> Array:
        """Return the elements."""
        return packed

    def stored(self, codes: Array, shape: Shape) -> Array:
        """Return the elements in their shape."""
        return codes.reshape(shape)


def magnitude(values: Array) -> Array:
    """Return the greatest magnitude along the last axis, which is kept."""
    greatest: Array = np.abs(values).max(axis=-1, keepdims=True, initial=0)
    return greatest


def inverse(scale: Array) -> Array:
    """Return 1/scale, and 0 where the scale is 0."""
    with np.errstate(divide="ignore"):
        return np.where(scale == 0, np.float32(0), np.float32(1) / scale).astype(np.float32)


def groups_of(values: Array, size: int) -> Array:
    """Return the values in groups along the last axis, (…, groups, size); zeros fill the last group."""
    missing = -values.shape[-1] % size
    if missing:
        values = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)])
    return values.reshape(*values.shape[:-1], -1, size)
