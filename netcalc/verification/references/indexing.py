"""References of :mod:`netcalc.ops.indexing`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference


def _positions(op: Attributes, x: Array, indices: tuple[Array, ...]) -> tuple[Shape, dict[Shape, Shape]]:
    """Return the shape of the elements at the positions, and the place in ``x`` of each of them."""
    axes = [axis % x.ndim for axis in op.axis]
    common = np.broadcast_shapes(*(index.shape for index in indices))
    wide = [np.broadcast_to(index, common) for index in indices]
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    neighbors = max(axes) - min(axes) == len(axes) - 1
    before = [axis for axis in rest if neighbors and axis < min(axes)]
    after = [axis for axis in rest if axis not in before]
    shape = (*(x.shape[axis] for axis in before), *common, *(x.shape[axis] for axis in after))
    places = {}
    for position in np.ndindex(shape):
        place = [0] * x.ndim
        middle = position[len(before) : len(before) + len(common)]
        for axis, where in zip(before, position, strict=False):
            place[axis] = where
        for axis, where in zip(after, position[len(before) + len(common) :], strict=True):
            place[axis] = where
        for axis, index in zip(axes, wide, strict=True):
            place[axis] = int(index[middle]) % x.shape[axis]
        places[position] = tuple(place)
    return shape, places


@reference("index")
def index(op: Attributes, x: Array, *indices: Array) -> Expected:
    shape, places = _positions(op, x, indices)
    return Expected(shape, x.dtype.name, lambda position: x[places[position]])


@reference("index_put")
def index_put(op: Attributes, x: Array, values: Array, *indices: Array) -> Expected:
    shape, places = _positions(op, x, indices)
    wide = np.broadcast_to(values, shape)
    return _scattered(
        x, ((place, wide[position]) for position, place in places.items()), "sum" if op.accumulate else None
    )


@reference("scatter")
def scatter(op: Attributes, x: Array, positions: Array, source: Array) -> Expected:
    axis = op.axis % x.ndim
    written = (
        ((*place[:axis], int(positions[place]), *place[axis + 1 :]), source[place])
        for place in np.ndindex(source.shape)
    )
    return _scattered(x, written, op.reduce)


def _scattered(x: Array, written: Iterator[tuple[Shape, object]], how: str | None) -> Expected:
    """Return the output in which values are written to places of ``x``, or combined with what is there."""
    here: dict[Shape, list[float]] = {}
    for place, value in written:
        here.setdefault(place, []).append(value)  # type: ignore[arg-type]

    def at(place: Shape) -> object:
        if place not in here:
            return x[place]
        if how is None:
            return here[place][-1]
        is_whole = x.dtype.kind in "iub"
        wide: Callable[[Any], Any] = int if is_whole else complex if x.dtype.kind == "c" else float
        terms = [wide(term) for term in (x[place], *here[place])]
        match how:
            case "sum":
                if is_whole:
                    return sum(terms)
                total = x[place]
                for term in terms[1:]:  # each sum is rounded to the type of the tensor
                    total = x.dtype.type(wide(total) + term)
                return Value(wide(total), float(sum(map(abs, terms))))
            case "prod":
                return math.prod(terms)
        return max(terms) if how == "amax" else min(terms)

    return Expected(x.shape, x.dtype.name, at)


@reference("masked_scatter")
def masked_scatter(op: Attributes, x: Array, mask: Array, source: Array) -> Expected:
    shape = np.broadcast_shapes(x.shape, mask.shape)
    wide, chosen = np.broadcast_to(x, shape), np.broadcast_to(mask, shape)
    order = {place: number for number, place in enumerate(zip(*np.nonzero(chosen), strict=True))}
    return Expected(shape, x.dtype.name, lambda place: source.flat[order[place]] if chosen[place] else wide[place])
