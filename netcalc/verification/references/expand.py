"""References of :mod:`netcalc.ops.expand`."""

from __future__ import annotations

import math

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference


@reference("expand")
def expand(op: Attributes, x: Array) -> Expected:
    sizes = (1,) * (len(op.shape) - x.ndim) + x.shape
    shape = tuple(size if target == -1 else target for size, target in zip(sizes, op.shape, strict=True))

    def at(index: Shape) -> object:
        source = [0 if size == 1 else place for size, place in zip(sizes, index, strict=True)]
        return x[tuple(source[len(shape) - x.ndim :])]

    return Expected(shape, x.dtype.name, at)


@reference("tile")
def tile(op: Attributes, x: Array) -> Expected:
    added = max(len(op.repeats) - x.ndim, 0)
    sizes = (1,) * added + x.shape
    repeats = (1,) * (len(sizes) - len(op.repeats)) + tuple(op.repeats)
    shape = tuple(size * times for size, times in zip(sizes, repeats, strict=True))

    def at(index: Shape) -> object:
        source = [place % size for place, size in zip(index, sizes, strict=True)]
        return x[tuple(source[added:])]

    return Expected(shape, x.dtype.name, at)


@reference("repeat_interleave")
def repeat_interleave(op: Attributes, x: Array) -> Expected:
    sizes: Shape = (math.prod(x.shape),) if op.axis is None else x.shape
    axis = 0 if op.axis is None else op.axis % x.ndim
    repeats = op.repeats if len(op.repeats) > 1 else op.repeats * sizes[axis]
    sources = [place for place, times in enumerate(repeats) for _ in range(times)]

    def at(index: Shape) -> object:
        place = (*index[:axis], sources[index[axis]], *index[axis + 1 :])
        return x.flat[place[0]] if op.axis is None else x[place]

    return Expected((*sizes[:axis], len(sources), *sizes[axis + 1 :]), x.dtype.name, at)
