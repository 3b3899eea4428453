"""Elements at positions that tensors hold, read, replaced or added to."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import minimum
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.axes import permuted
from netcalc.formats.graph.lines.operands import cast, single
from netcalc.formats.graph.lines.shape import reshaped
from netcalc.formats.graph.lines.slicing import bound, part
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._scalars import with_scalars
from netcalc.formats.torch.operators._updates import replaced, with_diagonal
from netcalc.formats.torch.operators.compare import chosen
from netcalc.formats.torch.operators.creation import filled
from netcalc.formats.torch.operators.slicing import bounds
from netcalc.formats.torch.operators.slicing import diagonal as diagonal_of


@operator("aten.index.Tensor", "aten._unsafe_index.Tensor")
def index(build: Builder, input: Value, indices: Sequence[Value | None]) -> Value:
    axes, places = positions(indices)
    if not axes:
        return input
    if is_mask(places):
        raise RuleError("the shape of the result depends on values: a mask selects elements")
    return build.line("index", [input, *places], {"axis": single(axes)})


@operator("aten.take.default")
def take(build: Builder, input: Value, index: Value) -> Value:
    return build.line("index", [reshaped(build, input, [-1]), index], {"axis": 0})


def positions(indices: Sequence[Value | None]) -> tuple[list[int], list[Value]]:
    """Return the axes that are indexed, and the indices; a mask indexes as many axes as it has."""
    axes, places = [], []
    axis = 0
    for index in indices:
        if index is not None:
            axes.append(axis)
            places.append(index)
        axis += index.type.rank if index is not None and is_mask([index]) else 1
    return axes, places


def is_mask(indices: Sequence[Value]) -> bool:
    """Return True if an index is a mask rather than positions."""
    return any(index.type.dtype in ("bool", "uint8") for index in indices)


@operator(
    *("aten.nonzero.default", "aten.nonzero_numpy.default", "aten.argwhere.default", "aten.where.default"),
    *("aten.masked_select.default", "aten._unique2.default", "aten.unique_consecutive.default"),
    *("aten.unique_dim.default", "aten.bincount.default"),
)
def by_values(build: Builder, **_: Any) -> Value:
    raise RuleError("the shape of the result depends on values")


@operator("aten.item.default", "aten._local_scalar_dense.default")
def item(build: Builder, input: Value) -> Value:
    raise RuleError("a number that is read from a tensor depends on values")


#: Combinations of ``scatter`` by their names in PyTorch.
_REDUCE = {"sum": "sum", "add": "sum", "prod": "prod", "multiply": "prod", "amax": "amax", "amin": "amin"}


@operator("aten.index_put.default", "aten._unsafe_index_put.default")
def index_put(build: Builder, input: Value, indices: Sequence[Value | None], values: Value, accumulate: bool) -> Value:
    axes, places = positions(indices)
    values = cast(build, values, input.type.dtype)
    if is_mask(places):
        return _put_by_mask(build, input, axes, places, values, accumulate)
    return build.line("index_put", [input, values, *places], {"axis": single(axes), "accumulate": accumulate or None})


def _put_by_mask(
    build: Builder, input: Value, axes: list[int], places: list[Value], values: Value, accumulate: bool
) -> Value:
    """Return the input with elements that a mask selects replaced by one value, or one for each index of later axes."""
    (mask,) = places if len(places) == 1 else (None,)
    if mask is None or accumulate:
        raise RuleError("a mask among several indices, and sums at a mask, are not expressible")
    after = input.type.rank - axes[0] - mask.type.rank
    if values.type.rank > after and any(size != 1 for size in values.type.shape[: values.type.rank - after]):
        if axes[0] == 0 and after == 0:
            return build.line("masked_scatter", [input, cast(build, mask, "bool"), values])
        raise RuleError("values for each element that a mask selects are not expressible")
    if values.type.rank > after:
        values = reshaped(build, values, values.type.shape[values.type.rank - after :])
    wide = reshaped(build, mask, (*mask.type.shape, *[1] * after))
    return chosen(build, wide, values, input, input.type.dtype)


@operator("aten.index_copy.default")
@with_scalars("input", "source")
def index_copy(build: Builder, input: Value, dim: int, index: Value, source: Value) -> Value:
    return build.line("index_put", [input, source, reshaped(build, index, [-1])], {"axis": dim})


@operator("aten.index_add.default")
@with_scalars("input", "source")
def index_add(build: Builder, input: Value, dim: int, index: Value, source: Value, alpha: Any) -> Value:
    scaled = source if alpha == 1 else build.line("mul", [source], {"value": alpha})
    attributes = {"axis": dim, "accumulate": True}
    return build.line(
        "index_put", [input, cast(build, scaled, input.type.dtype), reshaped(build, index, [-1])], attributes
    )


@operator("aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor")
@with_scalars("input")
def index_fill(build: Builder, input: Value, dim: int, index: Value, value: Value | Any) -> Value:
    number = value if isinstance(value, Value) else filled(build, (), value, input.type.dtype)
    values = cast(build, number, input.type.dtype)
    return build.line("index_put", [input, values, reshaped(build, index, [-1])], {"axis": dim})


@operator("aten.masked_scatter.default")
def masked_scatter(build: Builder, input: Value, mask: Value, source: Value) -> Value:
    return build.line("masked_scatter", [input, cast(build, mask, "bool"), source])


@operator("aten.scatter.src", "aten.scatter.value", "aten.scatter.reduce", "aten.scatter.value_reduce")
@with_scalars("input", "index", "src")
def scatter(
    build: Builder,
    input: Value,
    dim: int,
    index: Value,
    src: Value | None = None,
    value: Any = None,
    reduce: str | None = None,
) -> Value:
    if src is None:
        source = filled(build, index.type.shape, value, input.type.dtype)
    else:
        source = src
        for axis, size in enumerate(index.type.shape):
            source = part(build, source, axis, 0, bound(size, source.type.shape[axis]))
    return build.line("scatter", [input, index, source], {"axis": dim, "reduce": _REDUCE[reduce] if reduce else None})


@operator("aten.scatter_add.default")
def scatter_add(build: Builder, input: Value, dim: int, index: Value, src: Value) -> Value:
    return scatter(build, input, dim, index, src, reduce="sum")


#: Elements that a combination starts from where the input has no part in it.
_NEUTRAL = {"sum": 0, "prod": 1, "mean": 0, "amax": -inf, "amin": inf}


@operator("aten.scatter_reduce.two")
@with_scalars("input", "index", "src")
def scatter_reduce(
    build: Builder, input: Value, dim: int, index: Value, src: Value, reduce: str, include_self: bool
) -> Value:
    if not include_self:
        neutral = _NEUTRAL[reduce]
        if neutral in (inf, -inf) and not input.type.is_float:
            raise RuleError(f"scatter_reduce of integers by {reduce} without the input is not expressible")
        input = scatter(build, input, dim, index, value=neutral)
    if reduce != "mean":
        return scatter(build, input, dim, index, src, reduce=reduce)
    if not input.type.is_float:
        raise RuleError("scatter_reduce of integers by mean is not expressible")
    ones = filled(build, input.type.shape, 1, input.type.dtype)
    counts = ones if include_self else scatter(build, ones, dim, index, value=0)
    counts = scatter(build, counts, dim, index, value=1, reduce="sum")
    return build.line("div", [scatter(build, input, dim, index, src, reduce="sum"), counts])


@operator("aten.slice_scatter.default")
def slice_scatter(build: Builder, input: Value, src: Value, dim: int, start: Any, end: Any, step: int) -> Value:
    return replaced(build, input, cast(build, src, input.type.dtype), dim, *bounds(input, dim, start, end, step))


@operator("aten.select_scatter.default")
def select_scatter(build: Builder, input: Value, src: Value, dim: int, index: Any) -> Value:
    start = index + input.type.shape[dim] if index < 0 else index
    row = build.line("unsqueeze", [cast(build, src, input.type.dtype)], {"axis": dim % input.type.rank})
    return replaced(build, input, row, dim, start, start + 1)


@operator("aten.diagonal_scatter.default")
def diagonal_scatter(build: Builder, input: Value, src: Value, offset: int, dim1: int, dim2: int) -> Value:
    return with_diagonal(build, input, cast(build, src, input.type.dtype), offset, dim1, dim2)


@operator("aten.diag_embed.default")
def diag_embed(build: Builder, input: Value, offset: int, dim1: int, dim2: int) -> Value:
    size = input.type.shape[-1] + abs(offset)
    zeros = filled(build, (*input.type.shape[:-1], size, size), 0, input.type.dtype)
    rank = zeros.type.rank
    first, second = dim1 % rank, dim2 % rank
    others = iter(range(rank - 2))
    order = [rank - 2 if axis == first else rank - 1 if axis == second else next(others) for axis in range(rank)]
    return permuted(build, with_diagonal(build, zeros, input, offset, rank - 2, rank - 1), order)


@operator("aten.diag.default")
def diag(build: Builder, input: Value, diagonal: int) -> Value:
    if input.type.rank == 1:
        return diag_embed(build, input, diagonal, 0, 1)
    return diagonal_of(build, input, diagonal, 0, 1)


@operator("aten.fill_diagonal.default")
def fill_diagonal(build: Builder, input: Value, fill_value: Any, wrap: bool) -> Value:
    if input.type.rank != 2 or wrap:
        raise RuleError("fill_diagonal of other than matrices, or with wrap, is not expressible")
    length = minimum(*input.type.shape)
    return with_diagonal(build, input, filled(build, (length,), fill_value, input.type.dtype), 0, 0, 1)


@operator("aten.put.default")
def put(build: Builder, input: Value, index: Value, source: Value, accumulate: bool) -> Value:
    flat = reshaped(build, input, [-1])
    values = reshaped(build, source, index.type.shape)
    attributes = {"axis": 0, "accumulate": accumulate or None}
    return reshaped(build, build.line("index_put", [flat, values, index], attributes), input.type.shape)
