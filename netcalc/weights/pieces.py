"""Parts of tensors, written where they are needed piece by piece, so that no second copy of a tensor is held."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    from netcalc.arrays import Array

#: Most bytes of a piece of a tensor on its way from a file or from a generator to its place.
PIECE = 1 << 20

#: Start and stop of the indices along an axis.
Range: TypeAlias = tuple[int, int]
#: Place of a piece of a tensor: indices along the first axes, and a range along the next one.
Index: TypeAlias = tuple[int | slice, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a tensor and its place.

    ``ranges`` has the indices of the part along each axis of the tensor.  The elements are converted to ``dtype`` first
    and then written to ``out``, an array in the shape of the part that may have any strides and another type.
    """

    out: Array
    ranges: tuple[Range, ...]
    dtype: np.dtype[Any]

    @classmethod
    def whole(cls, out: Array, dtype: np.dtype[Any]) -> Part:
        """Return all of a tensor in the shape of ``out``."""
        return cls(out, tuple((0, size) for size in out.shape), dtype)

    @property
    def slices(self) -> tuple[slice, ...]:
        """The part as an index of the tensor."""
        return tuple(slice(*bounds) for bounds in self.ranges)

    def transposed(self, axes: Sequence[int]) -> Part:
        """Return the part of the tensor with its axes in another order."""
        return Part(self.out.transpose(axes), tuple(self.ranges[axis] for axis in axes), self.dtype)

    def moved(self, axis: int, start: int) -> Part:
        """Return the part within a longer tensor, of which this tensor is what begins at ``start`` along an axis."""
        axis %= len(self.ranges)
        first, last = self.ranges[axis]
        ranges = (*self.ranges[:axis], (first + start, last + start), *self.ranges[axis + 1 :])
        return Part(self.out, ranges, self.dtype)

    def reshaped(self, shape: tuple[int, ...]) -> Part | None:
        """Return a part that is all of a tensor, in another shape of it; None if it is not all, or needs a copy."""
        import numpy as np

        if any(first or last != size for (first, last), size in zip(self.ranges, self.out.shape, strict=True)):
            return None
        if math.prod(shape) != self.out.size:
            return None
        view = self.out.reshape(shape)
        return Part.whole(view, self.dtype) if np.may_share_memory(view, self.out) else None

    def within(self, axis: int, start: int, stop: int) -> Part | None:
        """Return what falls on indices ``start`` to ``stop``, as a part of the tensor that these are; None if nothing.

        The tensor then is one of several that follow each other along the axis.
        """
        axis %= self.out.ndim
        first, last = self.ranges[axis]
        low, high = max(first, start), min(last, stop)
        if low >= high:
            return None
        ranges = (*self.ranges[:axis], (low - start, high - start), *self.ranges[axis + 1 :])
        return Part(self.out[(*(slice(None),) * axis, slice(low - first, high - first))], ranges, self.dtype)

    def numbered(self, axis: int) -> Iterator[tuple[int, Part]]:
        """Yield, for each index along an axis, the index and the part of the tensor without the axis."""
        axis %= self.out.ndim
        ranges = (*self.ranges[:axis], *self.ranges[axis + 1 :])
        lead: tuple[Any, ...] = (slice(None),) * axis
        for place, number in enumerate(range(*self.ranges[axis])):
            yield number, Part(self.out[(*lead, place, ...)], ranges, self.dtype)

    def placed(self, index: Index) -> Array:
        """Return the view of ``out`` for a piece of the tensor, as :func:`pieces` of these ranges gives it."""
        places = (_index_from(place, bounds[0]) for place, bounds in zip(index, self.ranges, strict=False))
        return self.out[(*places, ...)]  # a view, even of a single element

    def put(self, target: Array, block: Array) -> None:
        """Write elements, converted, to ``target``, a view of ``out``."""
        import numpy as np

        np.copyto(target, block if block.dtype == self.dtype else block.astype(self.dtype), casting="unsafe")


class Loads(Protocol):
    """Tensors by name, each as a whole; those that can be written piece by piece have a method ``write`` too."""

    def load(self, name: str) -> Array:
        """Return the data of one tensor."""


def seeks_parts(tensors: object) -> bool:
    """Return True if the time of writing a part of a tensor does not depend on the rest of the tensor."""
    return getattr(tensors, "seeks_parts", False) is True


def write_part(tensors: Loads, name: str, part: Part) -> None:
    """Write a part of a tensor to its place, piece by piece if ``tensors`` can do that."""
    write: Callable[[str, Part], None] | None = getattr(tensors, "write", None)
    if write is not None:
        write(name, part)
    else:
        part.put(part.out, tensors.load(name)[part.slices])


def pieces(shape: Sequence[int], itemsize: int, ranges: Sequence[Range]) -> Iterator[Index]:
    """Yield the indices of pieces of a dense array, in the order of its elements, of :data:`PIECE` bytes at most.

    A piece is a range of one axis at single indices of the axes before, so that its elements follow each other.
    Only pieces with elements within ``ranges`` are yielded; a piece is cut by them along its axis and those before, not
    along those after it.
    """
    if 0 in shape or any(start >= stop for start, stop in ranges):
        return
    axis, row = len(shape), itemsize
    while axis and row * shape[axis - 1] <= PIECE:  # axes that a piece has as a whole
        axis -= 1
        row *= shape[axis]
    axis = max(axis - 1, 0)
    if not shape:
        yield ()
        return
    row = itemsize * math.prod(shape[axis + 1 :])
    count = max(1, PIECE // row)
    start, stop = ranges[axis]
    for lead in product(*(range(*bounds) for bounds in ranges[:axis])):
        for first in range(start, stop, count):
            yield (*lead, slice(first, min(first + count, stop)))


def elements_before(shape: Sequence[int], index: Index) -> int:
    """Return the number of elements of a dense array before a piece."""
    places = (place.start if isinstance(place, slice) else place for place in index)
    return sum(place * math.prod(shape[axis + 1 :]) for axis, place in enumerate(places))


def _index_from(place: int | slice, start: int) -> int | slice:
    return slice(place.start - start, place.stop - start) if isinstance(place, slice) else place - start
