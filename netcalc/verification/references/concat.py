"""References of :mod:`netcalc.ops.concat`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference
from netcalc.verification.references._promotion import promoted


@reference("concat")
def concat(op: Attributes, *inputs: Array) -> Expected:
    axis = op.axis % inputs[0].ndim
    places = [(array, place) for array in inputs for place in range(array.shape[axis])]
    shape = (*inputs[0].shape[:axis], len(places), *inputs[0].shape[axis + 1 :])

    def at(index: Shape) -> object:
        array, place = places[index[axis]]
        return array[(*index[:axis], place, *index[axis + 1 :])]

    return Expected(shape, promoted(*(array.dtype.name for array in inputs)), at)


@reference("stack")
def stack(op: Attributes, *inputs: Array) -> Expected:
    axis = op.axis % (inputs[0].ndim + 1)
    shape = (*inputs[0].shape[:axis], len(inputs), *inputs[0].shape[axis:])
    dtype = promoted(*(array.dtype.name for array in inputs))
    return Expected(shape, dtype, lambda index: inputs[index[axis]][index[:axis] + index[axis + 1 :]])


def _parts_along(x: Array, axis: int, sizes: Sequence[int]) -> tuple[Expected, ...]:
    def part(first: int, size: int) -> Expected:
        shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
        return Expected(shape, x.dtype.name, lambda index: x[(*index[:axis], first + index[axis], *index[axis + 1 :])])

    return tuple(part(sum(sizes[:number]), size) for number, size in enumerate(sizes))


def _runs_of_length(size: int, length: int) -> list[int]:
    return [min(length, size - first) for first in range(0, size, length)]


@reference("split")
def split(op: Attributes, x: Array) -> tuple[Expected, ...]:
    axis = op.axis % x.ndim
    return _parts_along(x, axis, op.sizes if isinstance(op.sizes, tuple) else _runs_of_length(x.shape[axis], op.sizes))


@reference("chunk")
def chunk(op: Attributes, x: Array) -> tuple[Expected, ...]:
    axis = op.axis % x.ndim
    length = -(-x.shape[axis] // op.chunks)
    return _parts_along(x, axis, _runs_of_length(x.shape[axis], length) if length else [0] * op.chunks)
