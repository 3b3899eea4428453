"""References of :mod:`netcalc.ops.shape`: the same elements in row-major order."""

from __future__ import annotations

import math
from collections.abc import Sequence

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference


def _sizes_filled_in(sizes: Sequence[int], total: int) -> Shape:
    others = math.prod(size for size in sizes if size != -1)
    return tuple(total // others if size == -1 else size for size in sizes)


def _row_major(x: Array, shape: Shape) -> Expected:
    def at(index: Shape) -> object:
        flat = 0
        for size, place in zip(shape, index, strict=True):
            flat = flat * size + place
        source = []
        for size in reversed(x.shape):
            flat, place = divmod(flat, size)
            source.append(place)
        return x[tuple(reversed(source))]

    return Expected(shape, x.dtype.name, at)


@reference("reshape")
def reshape(op: Attributes, x: Array) -> Expected:
    return _row_major(x, _sizes_filled_in(op.shape, x.size))


@reference("flatten")
def flatten(op: Attributes, x: Array) -> Expected:
    first, last = op.start_axis % x.ndim, op.end_axis % x.ndim
    return _row_major(x, (*x.shape[:first], math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :]))


@reference("unflatten")
def unflatten(op: Attributes, x: Array) -> Expected:
    axis = op.axis % x.ndim
    return _row_major(x, (*x.shape[:axis], *_sizes_filled_in(op.sizes, x.shape[axis]), *x.shape[axis + 1 :]))
