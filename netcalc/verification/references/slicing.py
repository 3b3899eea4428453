"""References of :mod:`netcalc.ops.slicing`."""

from __future__ import annotations

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference


def _index_with(index: Shape, axis: int, place: int) -> Shape:
    return (*index[:axis], place, *index[axis + 1 :])


@reference("slice")
def slice_(op: Attributes, x: Array) -> Expected:
    count = len(op.axis)
    start, stop, step = (values if len(values) == count else values * count for values in (op.start, op.stop, op.step))
    places = {
        axis % x.ndim: range(x.shape[axis])[slice(*bounds)]
        for axis, *bounds in zip(op.axis, start, stop, step, strict=True)
    }
    shape = tuple(len(places[axis]) if axis in places else size for axis, size in enumerate(x.shape))

    def at(index: Shape) -> object:
        return x[tuple(places[axis][place] if axis in places else place for axis, place in enumerate(index))]

    return Expected(shape, x.dtype.name, at)


@reference("select")
def select(op: Attributes, x: Array) -> Expected:
    axis = op.axis % x.ndim
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    return Expected(shape, x.dtype.name, lambda index: x[(*index[:axis], op.index, *index[axis:])])


@reference("gather")
def gather(op: Attributes, x: Array, positions: Array) -> Expected:
    axis = op.axis % x.ndim
    return Expected(positions.shape, x.dtype.name, lambda index: x[_index_with(index, axis, int(positions[index]))])


@reference("index_select")
def index_select(op: Attributes, x: Array, positions: Array | None = None) -> Expected:
    axis = op.axis % x.ndim
    places = list(op.indices) if positions is None else [int(place) for place in positions.flat]
    shape = (*x.shape[:axis], len(places), *x.shape[axis + 1 :])
    return Expected(shape, x.dtype.name, lambda index: x[_index_with(index, axis, places[index[axis]])])


@reference("roll")
def roll(op: Attributes, x: Array) -> Expected:
    if op.axis is None:
        order = [(place - op.shifts[0]) % x.size for place in range(x.size)]

        def from_flat(index: Shape) -> object:
            flat = 0
            for size, place in zip(x.shape, index, strict=True):
                flat = flat * size + place
            return x.flat[order[flat]]

        return Expected(x.shape, x.dtype.name, from_flat)

    def at(index: Shape) -> object:
        for axis, shift in zip(op.axis, op.shifts, strict=True):
            index = _index_with(index, axis % x.ndim, (index[axis] - shift) % x.shape[axis])
        return x[index]

    return Expected(x.shape, x.dtype.name, at)


@reference("flip")
def flip(op: Attributes, x: Array) -> Expected:
    def at(index: Shape) -> object:
        for axis in op.axis:
            index = _index_with(index, axis % x.ndim, x.shape[axis] - 1 - index[axis])
        return x[index]

    return Expected(x.shape, x.dtype.name, at)
