"""Where tensors lie: runs of bytes, and strided views of them."""

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
    """A run of bytes: a part of the arena, or a constant's own.

    ``first`` and ``last`` are the steps between which it is in use; ``memory`` is None until it is allocated.
    """

    nbytes: int
    first: int = -1
    last: int = -1
    memory: Array | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """A tensor in a store; ``strides`` and ``offset`` are in bytes, as NumPy's."""

    store: Store
    shape: Shape
    strides: Shape
    dtype: np.dtype[Any]
    offset: int = 0

    def array(self) -> Array:
        """The tensor itself, once its store has memory."""
        assert self.store.memory is not None
        return np.ndarray(self.shape, self.dtype, self.store.memory, self.offset, self.strides)

    @property
    def elements(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    def permuted(self, axes: Sequence[int]) -> Slot:
        """The axes in another order."""
        shape, strides = (tuple(values[axis] for axis in axes) for values in (self.shape, self.strides))
        return replace(self, shape=shape, strides=strides)

    def reshaped(self, shape: Shape) -> Slot | None:
        """The same bytes in another shape; None where that takes a copy."""
        strides = _reshaped(self.shape, self.strides, shape)
        return None if strides is None else replace(self, shape=shape, strides=strides)

    def part(self, axis: int, start: int, count: int, step: int = 1) -> Slot:
        """``count`` places along an axis."""
        shape, strides = list(self.shape), list(self.strides)
        offset = self.offset + start * strides[axis]
        shape[axis], strides[axis] = count, strides[axis] * step
        return replace(self, shape=tuple(shape), strides=tuple(strides), offset=offset)

    def without(self, axis: int) -> Slot:
        """The first place along an axis, which goes."""
        keep = [other for other in range(len(self.shape)) if other != axis]
        return self.permuted(keep)

    def inserted(self, axis: int) -> Slot:
        """One more axis, of one place."""
        shape, strides = list(self.shape), list(self.strides)
        shape.insert(axis, 1)
        strides.insert(axis, 0)
        return replace(self, shape=tuple(shape), strides=tuple(strides))

    def expanded(self, shape: Shape) -> Slot:
        """Broadcast to a shape of as many axes or more."""
        lead = len(shape) - len(self.shape)
        strides = [0] * lead + [
            0 if own == 1 != wanted else stride
            for own, wanted, stride in zip(self.shape, shape[lead:], self.strides, strict=True)
        ]
        return replace(self, shape=shape, strides=tuple(strides))

    @property
    def order(self) -> tuple[int, ...]:
        """The axes from the outermost in memory to the innermost; equal steps in their own order."""
        return tuple(sorted(range(len(self.shape)), key=lambda axis: (-abs(self.strides[axis]), axis)))


def dense(shape: Sequence[int], itemsize: int, order: Sequence[int] | None = None) -> Shape:
    """The strides of a tensor without gaps whose axes lie in this order, the innermost last."""
    strides, step = [0] * len(shape), itemsize
    for axis in reversed(range(len(shape)) if order is None else order):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def is_dense(slot: Slot, order: Sequence[int] | None = None) -> bool:
    """Whether its elements follow each other without gaps in this order of axes."""
    wanted = dense(slot.shape, slot.dtype.itemsize, order)
    return all(size == 1 or own == other for size, own, other in zip(slot.shape, slot.strides, wanted, strict=True))


def _reshaped(shape: Shape, strides: Shape, wanted: Shape) -> Shape | None:
    """The strides of the view of ``wanted`` shape, or None: groups of axes with equal products match one by one."""
    old = [(size, stride) for size, stride in zip(shape, strides, strict=True) if size != 1]
    result: list[int] = []
    position = start = 0
    while position < len(wanted):
        if wanted[position] == 1:
            result.append(old[min(start, len(old) - 1)][1] if old else 1)
            position += 1
            continue
        end, product, target, stop = start, 1, 1, position
        while True:
            if product == target and end > start:
                break
            if product < target or end == start:
                if end == len(old):
                    return None
                product *= old[end][0]
                end += 1
            else:
                if stop == len(wanted):
                    return None
                target *= wanted[stop]
                stop += 1
        group = old[start:end]
        if any(outer[1] != inner[0] * inner[1] for outer, inner in pairwise(group)):
            return None
        part, step = [], group[-1][1]
        for size in reversed(wanted[position:stop]):
            part.append(step)
            step *= size
        result += reversed(part)
        start, position = end, stop
    return tuple(result) if start == len(old) else None
