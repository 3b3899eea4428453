"""Sorting, and the search for elements by their rank."""

from __future__ import annotations

from functools import partial
from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.operands import cast, unless_default
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator


def _index(operation: str, build: Builder, input: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    ordered = cast(build, input, "uint8" if input.type.dtype == "bool" else None)
    return build.line(operation, [ordered], {"axis": dim, "keepdim": keepdim or None})


def _extreme(operation: str, build: Builder, input: Value, dim: int, keepdim: bool) -> tuple[Value, Value]:
    values = build.line(operation, [input], {"axis": dim, "keepdim": keepdim or None})
    return values, _index(f"arg{operation}", build, input, dim, keepdim)


for _operation in ("max", "min"):
    operator(f"aten.{_operation}.dim")(partial(_extreme, _operation))
    operator(f"aten.arg{_operation}.default")(partial(_index, f"arg{_operation}"))


@operator("aten.topk.default")
def topk(build: Builder, input: Value, k: Any, dim: int, largest: bool, sorted: bool) -> tuple[Value, ...]:
    attributes = {
        "k": k,
        "axis": None if dim in (-1, len(input.type.shape) - 1) else dim,
        "largest": unless_default(largest, True),
    }
    return build.lines("topk", [input], attributes)


@operator("aten.sort.default", "aten.sort.stable")
def sort(build: Builder, input: Value, dim: int, descending: bool, stable: bool | None = False) -> tuple[Value, ...]:
    attributes = {"axis": None if dim in (-1, len(input.type.shape) - 1) else dim, "descending": descending or None}
    return build.lines("sort", [input], attributes)


def _so_far(operation: str, build: Builder, input: Value, dim: int) -> tuple[Value, ...]:
    return build.lines(operation, [input], {"axis": dim})


for _operation in ("cummax", "cummin"):
    operator(f"aten.{_operation}.default")(partial(_so_far, _operation))


@operator("aten.argsort.default", "aten.argsort.stable")
def argsort(build: Builder, input: Value, dim: int, descending: bool, stable: bool = False) -> Value:
    return sort(build, input, dim, descending, stable)[1]


@operator("aten.msort.default")
def msort(build: Builder, input: Value) -> Value:
    return sort(build, input, 0, False)[0]


def _ranked(build: Builder, input: Value, rank: Any, dim: int, keepdim: bool) -> tuple[Value, ...]:
    """Return the element of a rank along an axis, and its index."""
    ranked = [build.line("select", [x], {"axis": dim, "index": rank}) for x in sort(build, input, dim, False)]
    return tuple(build.line("unsqueeze", [x], {"axis": dim}) if keepdim else x for x in ranked)


@operator("aten.kthvalue.default")
def kthvalue(build: Builder, input: Value, k: Any, dim: int, keepdim: bool) -> tuple[Value, ...]:
    return _ranked(build, input, k - 1, dim, keepdim)


@operator("aten.median.dim")
def median(build: Builder, input: Value, dim: int, keepdim: bool) -> tuple[Value, ...]:
    size = input.type.shape[dim] if input.type.shape else 1
    return _ranked(build, input, (size - 1) // 2, dim, keepdim)


@operator("aten.median.default")
def median_of_all(build: Builder, input: Value) -> Value:
    flat = build.line("reshape", [input], {"shape": [-1]})
    return median(build, flat, 0, False)[0]


@operator("aten.bucketize.Tensor")
def bucketize(build: Builder, input: Value, boundaries: Value, out_int32: bool, right: bool) -> Value:
    return searchsorted(build, boundaries, input, out_int32, right)


@operator("aten.searchsorted.Tensor")
def searchsorted(
    build: Builder,
    sorted_sequence: Value,
    input: Value,
    out_int32: bool,
    right: bool,
    side: str | None = None,
    sorter: Value | None = None,
) -> Value:
    """The number of elements of the sequence before each element of the input, which may be NaN."""
    ordered = sorted_sequence
    if sorter is not None:
        ordered = build.line("gather", [ordered, sorter], {"axis": -1})
    if ordered.type.rank > 1:  # a sequence for each row of the input
        ordered = build.line("unsqueeze", [ordered], {"axis": -2})
    after = "greater" if right or side == "right" else "greater_equal"
    elements = build.line("unsqueeze", [input], {"axis": -1})
    before = build.line("logical_not", [build.line(after, [ordered, elements])])
    return cast(build, build.line("sum", [before], {"axis": -1}), "int32" if out_int32 else None)
