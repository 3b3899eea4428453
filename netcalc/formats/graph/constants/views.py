"""Rules of operations that move elements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import NamedTuple

from netcalc.dims import Dim, Poly, maximum
from netcalc.formats.graph.constants.expressions import Expression, axes_of, call, index, never_negative, substituted
from netcalc.formats.graph.constants.rules import Case, moved, rule, spread


@rule("identity")
def _same_elements(case: Case) -> Expression:
    return case.operands[0]


@rule("expand")
def _expand(case: Case) -> Expression:
    return spread(case, 0)


@rule("unsqueeze")
def _unsqueeze(case: Case) -> Expression:
    new, rank = case.axis(case.op.axis, len(case.sizes)), len(case.inputs[0].shape)
    return moved(case, {axis: index(axis + (axis >= new), case.sizes) for axis in range(rank)})


@rule("squeeze")
def _squeeze(case: Case) -> Expression:
    shape = case.inputs[0].shape
    axes = range(len(shape)) if case.op.axis is None else map(case.axis, case.op.axis)
    gone = {axis for axis in axes if shape[axis] == 1}
    remaining = [axis for axis in range(len(shape)) if axis not in gone]
    return moved(case, {**dict.fromkeys(gone, 0), **{a: index(i, case.sizes) for i, a in enumerate(remaining)}})


@rule("permute")
def _permute(case: Case) -> Expression:
    return moved(case, {case.axis(axis): index(place, case.sizes) for place, axis in enumerate(case.op.axes)})


@rule("transpose")
def _transpose(case: Case) -> Expression:
    a, b = map(case.axis, case.op.axes)
    return moved(case, {a: index(b, case.sizes), b: index(a, case.sizes)})


@rule("slice")
def _slice(case: Case) -> Expression:
    places = {}
    for name, start, _, step in case.op.ranges():
        axis = case.axis(name)
        first = _bound(start, case.inputs[0].shape[axis])
        places[axis] = first + step * index(axis, case.sizes)
    return moved(case, places)


def _bound(start: Dim, size: Dim) -> Dim:
    return maximum(size + start, 0) if isinstance(start, int) and start < 0 else start


@rule("select")
def _select(case: Case) -> Expression:
    gone, rank = case.axis(case.op.axis), len(case.inputs[0].shape)
    places = {axis: index(axis - (axis > gone), case.sizes) for axis in range(rank) if axis != gone}
    return moved(case, {**places, gone: _bound(case.op.index, case.inputs[0].shape[gone])})


@rule("flip")
def _flip(case: Case) -> Expression:
    axes = map(case.axis, case.op.axis if case.sizes else ())
    return moved(case, {axis: case.sizes[axis] - 1 - index(axis, case.sizes) for axis in axes})


@rule("reshape", "flatten", "unflatten")
def _reshape(case: Case) -> Expression:
    """Return the elements by their number in row-major order."""
    before, sizes = case.inputs[0].shape, case.sizes
    if 0 in before or 0 in sizes:
        return 0
    place: Dim = 0
    for axis, size in enumerate(sizes):
        place = place * size + index(axis, sizes)
    places = {}
    for axis in reversed(range(len(before))):
        places[axis] = place % before[axis] if axis else place
        place = place // before[axis]
    return moved(case, places)


@rule("tile")
def _tile(case: Case) -> Expression:
    front = len(case.sizes) - len(case.inputs[0].shape)
    places = {}
    for axis, size in enumerate(case.inputs[0].shape):
        place = index(axis + front, case.sizes)
        places[axis] = place % size if case.sizes[axis + front] != size else place
    return moved(case, places)


@rule("concat")
def _concat(case: Case) -> Expression:
    axis = case.axis(case.op.axis)
    starts = [sum((x.shape[axis] for x in case.inputs[:i]), start=0) for i in range(len(case.inputs))]
    here = index(axis, case.sizes)
    parts = [moved(case, {axis: here - start}, number) for number, start in enumerate(starts)]
    return reduce(
        lambda rest, part: call("where", (call("nonnegative", (part[0] - 1 - here,)), part[1], rest)),
        zip(reversed(starts[1:]), reversed(parts[:-1]), strict=True),
        parts[-1],
    )


@rule("split", "chunk")
def _split(case: Case) -> list[Expression]:
    axis = case.axis(case.op.axis)
    start: Dim = 0
    pieces = []
    for number, output in enumerate(case.outputs):
        pieces.append(moved(case, {axis: start + index(axis, output.shape)}, output=number))
        start = start + output.shape[axis]
    return pieces


@rule("gather")
def _gather(case: Case) -> Expression | None:
    return _elements_at(case, {case.axis(case.op.axis): spread(case, 1)})


@rule("index_select")
def _index_select(case: Case) -> Expression | None:
    if len(case.operands) < 2:
        return None
    axis = case.axis(case.op.axis)
    along = {0: index(axis, case.sizes)}
    return _elements_at(case, {axis: moved(case, along, 1)})


@rule("index")
def _index(case: Case) -> Expression | None:
    rank, count = len(case.inputs[0].shape), len(case.inputs) - 1
    layout = indexed_axes([case.axis(axis) for axis in case.op.axis], rank, len(case.sizes))
    places: dict[int, Expression] = {axis: index(place, case.sizes) for axis, place in layout.kept.items()}
    for number, axis in zip(range(1, count + 1), layout.indexed, strict=True):
        first = layout.stop - len(case.inputs[number].shape)
        along = {other: index(first + other, case.sizes) for other in range(len(case.inputs[number].shape))}
        places[axis] = substituted(case.operands[number], along)
    return _elements_at(case, places)


class IndexedAxes(NamedTuple):
    """The axes of a look-up by several indices.

    Attributes:
        indexed: the axes of the input that the indices select from.
        kept: the axis of the result for each other one of the input.
        stop: the axis of the result after the axes of the indices.
    """

    indexed: list[int]
    kept: dict[int, int]
    stop: int


def indexed_axes(indexed: list[int], rank: int, result: int) -> IndexedAxes:
    """Return the axes of a look-up along ``indexed`` axes of a tensor of ``rank`` axes."""
    first, count = min(indexed), result - (rank - len(indexed))
    front = first if sorted(indexed) == list(range(first, first + len(indexed))) else 0
    others = [axis for axis in range(rank) if axis not in indexed]
    remaining = {axis: place if place < front else place + count for place, axis in enumerate(others)}
    return IndexedAxes(indexed, remaining, front + count)


def _elements_at(case: Case, places: Mapping[int, Expression]) -> Expression | None:
    """Return the elements at places, which must not be negative, unless nothing depends on them."""
    used = axes_of(case.operands[0])
    indices: dict[int, Dim] = {}
    for axis, place in places.items():
        indices[axis] = place if axis in used and isinstance(place, (int, Poly)) else 0
        if axis in used and not (isinstance(place, (int, Poly)) and never_negative(place)):
            return None
    return moved(case, indices)
