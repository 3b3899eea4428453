"""Stores (runs of bytes) and slots (strided views of stores, which hold tensors)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from netcalc.numerics.kernels import Array

__all__ = ["Slot", "Store", "dense", "is_dense"]

Shape: TypeAlias = tuple[int, ...]


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
        strides = _reshaped(self.shape, self.strides, shape)
        return None if strides is None else replace(self, shape=shape, strides=strides)

    def part(self, axis: int, start: int, count: int, step: int = 1) -> Slot:
        """Return the view of ``count`` indices along an axis, beginning with ``start``, ``step`` apart."""
        shape, strides = list(self.shape), list(self.strides)
        offset = self.offset + start * strides[axis]
        shape[axis], strides[axis] = count, strides[axis] * step
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


def dense(shape: Sequence[int], itemsize: int, order: Sequence[int] | None = None) -> Shape:
    """Return the strides of a tensor without gaps whose axes have this order in memory, the innermost last."""
    strides, stride = [0] * len(shape), itemsize
    for axis in reversed(range(len(shape)) if order is None else order):
        strides[axis] = stride
        stride *= shape[axis]
    return tuple(strides)


def is_dense(slot: Slot, order: Sequence[int] | None = None) -> bool:
    """Return True if the elements follow each other without gaps in this order of axes."""
    expected = dense(slot.shape, slot.dtype.itemsize, order)
    return all(size == 1 or one == other for size, one, other in zip(slot.shape, slot.strides, expected, strict=True))


def _reshaped(shape: Shape, strides: Shape, target: Shape) -> Shape | None:
    """Return the strides of the view of shape ``target``, or None if there is no such view.

    Old and new axes are matched in groups of equal products; within a group the old axes must be contiguous.
    """
    if 0 in shape:
        return (0,) * len(target)
    old = [(size, stride) for size, stride in zip(shape, strides, strict=True) if size != 1]
    result: list[int] = []
    position = start = 0
    while position < len(target):
        if target[position] == 1:
            result.append(old[min(start, len(old) - 1)][1] if old else 1)
            position += 1
            continue
        ends = _matching(old, start, target, position)
        if ends is None:
            return None
        end, stop = ends
        group = old[start:end]
        if any(outer[1] != inner[0] * inner[1] for outer, inner in pairwise(group)):
            return None
        new, stride = [], group[-1][1]
        for size in reversed(target[position:stop]):
            new.append(stride)
            stride *= size
        result += reversed(new)
        start, position = end, stop
    return tuple(result) if start == len(old) else None


def _matching(old: Sequence[tuple[int, int]], start: int, target: Shape, position: int) -> tuple[int, int] | None:
    """Return the ends of the shortest runs of old axes and of target axes whose sizes have the same product."""
    end, stop, product, wanted = start, position, 1, 1
    while product != wanted or end == start:
        if product < wanted or end == start:
            if end == len(old):
                return None
            product *= old[end][0]
            end += 1
        else:
            if stop == len(target):
                return None
            wanted *= target[stop]
            stop += 1
    return end, stop
