"""Stores (runs of bytes) and slots (strided views of stores, which hold tensors)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from netcalc.analysis.strides import Shape, dense, reshaped
from netcalc.arrays import Array


@dataclass(eq=False, slots=True)
class Store:
    """A run of bytes: a part of the arena, or the memory of a constant.

    ``first`` and ``last`` are the numbers of the steps that first and last use it; ``memory`` is None until it is
    allocated.
    """

    nbytes: int
    first: int = -1
    last: int = -1
    memory: Array | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """A tensor in a store: a strided view, with ``strides`` and ``offset`` in bytes as in NumPy."""

    store: Store
    shape: Shape
    strides: Shape
    dtype: np.dtype[Any]
    offset: int = 0

    def array(self) -> Array:
        """Return the tensor as an array; its store must be allocated."""
        if not self.elements:  # may lie past the end of the store
            return np.empty(self.shape, self.dtype)
        assert self.store.memory is not None
        return np.ndarray(self.shape, self.dtype, self.store.memory, self.offset, self.strides)

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def permuted(self, axes: Sequence[int]) -> Slot:
        """Return the view with its axes in another order."""
        shape, strides = (tuple(values[axis] for axis in axes) for values in (self.shape, self.strides))
        return replace(self, shape=shape, strides=strides)

    def reshaped(self, shape: Shape) -> Slot | None:
        """Return the view in another shape, or None if that needs a copy."""
        strides = reshaped(self.shape, self.strides, shape)
        return None if strides is None else replace(self, shape=shape, strides=strides)

    def part(self, axis: int, start: int, count: int, step: int = 1) -> Slot:
        """Return the view of ``count`` indices along an axis, beginning with ``start``, ``step`` apart."""
        shape, strides = list(self.shape), list(self.strides)
        offset = self.offset + start * strides[axis]
        shape[axis], strides[axis] = count, strides[axis] * (step if count > 1 else 1)
        return replace(self, shape=tuple(shape), strides=tuple(strides), offset=offset)

    def without(self, axis: int) -> Slot:
        """Return the view of index 0 along an axis, without the axis."""
        keep = [other for other in range(len(self.shape)) if other != axis]
        return self.permuted(keep)

    def inserted(self, axis: int) -> Slot:
        """Return the view with one more axis, of size 1."""
        shape, strides = list(self.shape), list(self.strides)
        shape.insert(axis, 1)
        strides.insert(axis, 0)
        return replace(self, shape=tuple(shape), strides=tuple(strides))

    def expanded(self, shape: Shape) -> Slot:
        """Return the view broadcast to a shape of as many axes or more."""
        lead = len(shape) - len(self.shape)
        strides = [0] * lead + [
            0 if size == 1 != target else stride
            for size, target, stride in zip(self.shape, shape[lead:], self.strides, strict=True)
        ]
        return replace(self, shape=shape, strides=tuple(strides))

    @property
    def order(self) -> tuple[int, ...]:
        """The axes from the outermost in memory to the innermost; axes of equal strides in their given order."""
        return tuple(sorted(range(len(self.shape)), key=lambda axis: (-abs(self.strides[axis]), axis)))


def is_dense(slot: Slot, order: Sequence[int] | None = None) -> bool:
    """Return True if the elements follow each other without gaps in this order of axes."""
    expected = dense(slot.shape, slot.dtype.itemsize, order)
    return all(size == 1 or step == other for size, step, other in zip(slot.shape, slot.strides, expected, strict=True))


def has_rows(slot: Slot) -> bool:
    """Return True if all axes but the last are one of evenly spaced rows, each without gaps."""
    columns = slot.shape[-1]
    if columns > 1 and slot.strides[-1] != slot.dtype.itemsize:
        return False
    return slot.reshaped((slot.elements // max(columns, 1), columns)) is not None
