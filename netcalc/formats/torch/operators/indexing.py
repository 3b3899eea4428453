"""Elements at positions that tensors hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators.axes import broadcast_shape, expanded
from netcalc.formats.torch.operators.operands import single
from netcalc.formats.torch.operators.views import reshaped


@operator("aten.index.Tensor", "aten._unsafe_index.Tensor")
def index(build: Builder, input: Value, indices: Sequence[Value | None]) -> Value:
    axes, places = positions(indices)
    if not axes:
        return input
    if is_mask(places):
        raise RuleError("the shape of the result depends on values: a mask selects elements")
    return build.line("index", [input, *places], {"axis": single(axes)})


@operator("aten.index_select.default")
def index_select(build: Builder, input: Value, dim: int, index: Value) -> Value:
    return build.line("index_select", [input, index], {"axis": dim})


@operator("aten.gather.default")
def gather(build: Builder, input: Value, dim: int, index: Value, sparse_grad: bool) -> Value:
    return build.line("gather", [input, index], {"axis": dim})


@operator("aten.take_along_dim.default")
def take_along_dim(build: Builder, input: Value, indices: Value, dim: int | None) -> Value:
    if dim is None:
        return build.line("index", [reshaped(build, input, [-1]), reshaped(build, indices, [-1])], {"axis": 0})
    axis = dim % input.type.rank
    shape = broadcast_shape([_without(value, axis) for value in (input, indices)])
    wide = [expanded(build, x, (*shape[:axis], x.type.shape[axis], *shape[axis + 1 :])) for x in (input, indices)]
    return build.line("gather", wide, {"axis": dim})


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


def _without(value: Value, axis: int) -> tuple[Any, ...]:
    return (*value.type.shape[:axis], 1, *value.type.shape[axis + 1 :])
