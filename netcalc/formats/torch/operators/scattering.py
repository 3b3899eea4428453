"""Tensors of which some elements are replaced, or added to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators.creation import filled
from netcalc.formats.torch.operators.indexing import is_mask, plain, positions
from netcalc.formats.torch.operators.masks import chosen
from netcalc.formats.torch.operators.operands import cast
from netcalc.formats.torch.operators.slicing import bound, bounds, part
from netcalc.formats.torch.operators.updates import replaced
from netcalc.formats.torch.operators.views import reshaped

#: Combinations of ``scatter`` by their names in PyTorch.
_REDUCE = {"sum": "sum", "add": "sum", "prod": "prod", "multiply": "prod", "amax": "amax", "amin": "amin"}


@operator("aten.index_put.default", "aten._unsafe_index_put.default")
def index_put(build: Builder, input: Value, indices: Sequence[Value | None], values: Value, accumulate: bool) -> Value:
    axes, places = positions(indices)
    values = cast(build, values, input.type.dtype)
    if is_mask(places):
        return _put_by_mask(build, input, axes, places, values, accumulate)
    return build.line("index_put", [input, values, *places], {"axis": plain(axes), "accumulate": accumulate or None})


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
def index_copy(build: Builder, input: Value, dim: int, index: Value, source: Value) -> Value:
    return build.line("index_put", [input, source, reshaped(build, index, [-1])], {"axis": dim})


@operator("aten.index_add.default")
def index_add(build: Builder, input: Value, dim: int, index: Value, source: Value, alpha: Any) -> Value:
    scaled = source if alpha == 1 else build.line("mul", [source], {"value": alpha})
    attributes = {"axis": dim, "accumulate": True}
    return build.line(
        "index_put", [input, cast(build, scaled, input.type.dtype), reshaped(build, index, [-1])], attributes
    )


@operator("aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor")
def index_fill(build: Builder, input: Value, dim: int, index: Value, value: Value | Any) -> Value:
    number = value if isinstance(value, Value) else filled(build, (), value, input.type.dtype)
    values = cast(build, number, input.type.dtype)
    return build.line("index_put", [input, values, reshaped(build, index, [-1])], {"axis": dim})


@operator("aten.masked_scatter.default")
def masked_scatter(build: Builder, input: Value, mask: Value, source: Value) -> Value:
    return build.line("masked_scatter", [input, cast(build, mask, "bool"), source])


@operator("aten.scatter.src", "aten.scatter.value", "aten.scatter.reduce", "aten.scatter.value_reduce")
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


@operator("aten.scatter_reduce.two")
def scatter_reduce(
    build: Builder, input: Value, dim: int, index: Value, src: Value, reduce: str, include_self: bool
) -> Value:
    if reduce not in _REDUCE or not include_self:
        raise RuleError(f"scatter_reduce by {reduce}{'' if include_self else ' without the input'} is not expressible")
    return scatter(build, input, dim, index, src, reduce=reduce)


@operator("aten.slice_scatter.default")
def slice_scatter(build: Builder, input: Value, src: Value, dim: int, start: Any, end: Any, step: int) -> Value:
    return replaced(build, input, cast(build, src, input.type.dtype), dim, *bounds(input, dim, start, end, step))


@operator("aten.select_scatter.default")
def select_scatter(build: Builder, input: Value, src: Value, dim: int, index: Any) -> Value:
    start = index + input.type.shape[dim] if index < 0 else index
    row = build.line("unsqueeze", [cast(build, src, input.type.dtype)], {"axis": dim % input.type.rank})
    return replaced(build, input, row, dim, start, start + 1)
