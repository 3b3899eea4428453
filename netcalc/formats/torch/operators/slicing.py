"""Parts of tensors: ranges, single indices, diagonals and windows; shifted and reversed order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, maximum, minimum
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.axes import permuted, swapped
from netcalc.formats.graph.lines.expand import broadcast_shape, expanded
from netcalc.formats.graph.lines.operands import single
from netcalc.formats.graph.lines.shape import reshaped
from netcalc.formats.graph.lines.slicing import bound, part, range_attributes
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._scalars import with_scalars

#: The end of a slice that has none.
_END = 2**63 - 1


@operator("aten.slice.Tensor", "aten.slice_copy.Tensor")
def slice_(build: Builder, input: Value, dim: int, start: Any, end: Any, step: int) -> Value:
    return part(build, input, dim, *bounds(input, dim, start, end, step), written=(start, end))


@operator("aten.narrow.default", "aten.narrow_copy.default")
def narrow(build: Builder, input: Value, dim: int, start: Any, length: Any) -> Value:
    return part(build, input, dim, *bounds(input, dim, start, length=length))


def bounds(
    input: Value, dim: int, start: Any, end: Any = None, step: Any = 1, length: Any = None
) -> tuple[Dim, Dim, Any]:
    """Return first index, end and step of a slice, or of a range of a given length, counted from the front."""
    size = input.type.shape[dim]
    first = bound(start or 0, size)
    if length is not None:
        return first, first + length, step
    return first, maximum(first, size if end in (None, _END) else bound(end, size)), step


@operator("aten.select.int", "aten.select_copy.int")
def select(build: Builder, input: Value, dim: int, index: Any) -> Value:
    if isinstance(index, Value):
        return build.line("index", [input, index], {"axis": dim})
    return build.line("select", [input], {"axis": dim, "index": index})


@operator("aten.unbind.int")
def unbind(build: Builder, input: Value, dim: int) -> list[Value]:
    count = input.type.shape[dim]
    if not isinstance(count, int):
        raise RuleError(f"the number of results, {count}, is symbolic")
    return [build.line("select", [input], {"axis": dim, "index": index}) for index in range(count)]


@operator("aten.diagonal.default", "aten.diagonal_copy.default")
def diagonal(build: Builder, input: Value, offset: int, dim1: int, dim2: int) -> Value:
    order, places = diagonal_places(input, offset, dim1, dim2)
    last = permuted(build, input, order)
    return part(build, build.line("flatten", [last], {"start_axis": input.type.rank - 2}), -1, *places)


def diagonal_places(input: Value, offset: int, dim1: int, dim2: int) -> tuple[list[int], tuple[Dim, Dim, Dim]]:
    """Return the order of axes that puts the axes of a diagonal last, and where it is in the flattened matrix."""
    rank = input.type.rank
    first, second = dim1 % rank, dim2 % rank
    order = [*(axis for axis in range(rank) if axis not in (first, second)), first, second]
    rows, columns = input.type.shape[first], input.type.shape[second]
    length = maximum(minimum(rows, columns - offset) if offset >= 0 else minimum(rows + offset, columns), 0)
    if length == 0:
        return order, (0, 0, 1)
    start = offset if offset >= 0 else -offset * columns
    return order, (start, start + (length - 1) * (columns + 1) + 1, columns + 1)


@operator("aten.unfold.default", "aten.unfold_copy.default")
def windows(build: Builder, input: Value, dimension: int, size: int, step: int) -> Value:
    """Windows along an axis, whose elements become the last axis of the result."""
    rank = input.type.rank
    axis = dimension % rank
    length = input.type.shape[axis]
    count = (length - size) // step + 1
    if size == step:
        cut = part(build, input, axis, 0, count * size)
        result = build.line("unflatten", [cut], {"axis": axis, "sizes": [-1, size]})
    elif isinstance(count, int):
        places = [start * step + place for start in range(count) for place in range(size)]
        result = build.line("index_select", [input], {"axis": axis, "indices": places})
        result = build.line("unflatten", [result], {"axis": axis, "sizes": [-1, size]})
    else:
        starts = [
            build.line("slice", [input], range_attributes(axis, k, length - size + k + 1, step)) for k in range(size)
        ]
        return build.line("stack", starts, {"axis": rank})
    return permuted(build, result, [place for place in range(rank + 1) if place != axis + 1] + [axis + 1])


@operator("aten.as_strided.default", "aten.as_strided_copy.default", "aten.as_strided_scatter.default")
def as_strided(build: Builder, input: Value, **_: Any) -> Value:
    raise RuleError("the result of as_strided depends on the order of elements in memory")


@operator("aten.roll.default")
def roll(build: Builder, input: Value, shifts: Any, dims: Any) -> Value:
    moved, axes = single(shifts), single(dims)
    if not dims and input.type.rank == 1:
        axes = 0
    return build.line("roll", [input], {"shifts": moved, "axis": None if axes == [] else axes})


@operator("aten.flip.default")
def flip(build: Builder, input: Value, dims: Any) -> Value:
    return build.line("flip", [input], {"axis": single(dims)}) if dims else input


operator("aten.fliplr.default")(partial(flip, dims=[1]))
operator("aten.flipud.default")(partial(flip, dims=[0]))


@operator("aten.rot90.default")
def rot90(build: Builder, input: Value, k: int, dims: Sequence[int]) -> Value:
    first, second = (axis % input.type.rank for axis in dims)
    turned = swapped(input.type.rank, first, second)
    match k % 4:
        case 0:
            return input
        case 1:
            return permuted(build, build.line("flip", [input], {"axis": second}), turned)
        case 2:
            return build.line("flip", [input], {"axis": [first, second]})
    return build.line("flip", [permuted(build, input, turned)], {"axis": second})


@operator("aten.index_select.default")
@with_scalars("input")
def index_select(build: Builder, input: Value, dim: int, index: Value) -> Value:
    return build.line("index_select", [input, index], {"axis": dim})


@operator("aten.gather.default")
@with_scalars("index", "input")
def gather(build: Builder, input: Value, dim: int, index: Value, sparse_grad: bool) -> Value:
    return build.line("gather", [input, index], {"axis": dim})


@operator("aten.take_along_dim.default")
def take_along_dim(build: Builder, input: Value, indices: Value, dim: int | None) -> Value:
    if dim is None:
        return build.line("index", [reshaped(build, input, [-1]), reshaped(build, indices, [-1])], {"axis": 0})
    axis = dim % input.type.rank
    shape = broadcast_shape([_shape_without(value, axis) for value in (input, indices)])
    wide = [expanded(build, x, (*shape[:axis], x.type.shape[axis], *shape[axis + 1 :])) for x in (input, indices)]
    return build.line("gather", wide, {"axis": dim})


def _shape_without(value: Value, axis: int) -> tuple[Any, ...]:
    return (*value.type.shape[:axis], 1, *value.type.shape[axis + 1 :])


@operator("aten.linalg_diagonal.default")
def linalg_diagonal(build: Builder, A: Value, offset: int, dim1: int, dim2: int) -> Value:  # noqa: N803
    return diagonal(build, A, offset, dim1, dim2)
