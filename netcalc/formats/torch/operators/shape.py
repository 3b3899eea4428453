"""The same elements in another shape: merged axes, split axes, axes of size 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dtypes import ITEMSIZE
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.shape import filled_sizes, merged, reshaped, split
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._operands import dtype_of


@operator("aten.view.default", "aten._unsafe_view.default", "aten.reshape.default", "aten._reshape_copy.default")
def reshape(build: Builder, input: Value, **shape: Sequence[Any]) -> Value:
    (sizes,) = shape.values()
    return reshaped(build, input, sizes)


@operator("aten.view_as.default", "aten.reshape_as.default")
def view_as(build: Builder, input: Value, other: Value) -> Value:
    return reshaped(build, input, other.type.shape)


@operator("aten.flatten.using_ints")
def flatten(build: Builder, input: Value, start_dim: int, end_dim: int) -> Value:
    rank = input.type.rank
    if not rank:
        return build.line("reshape", [input], {"shape": [1]})
    return merged(build, input, start_dim % rank, end_dim % rank)


@operator("aten.ravel.default")
def ravel(build: Builder, input: Value) -> Value:
    return flatten(build, input, 0, -1)


@operator("aten.unflatten.int")
def unflatten(build: Builder, input: Value, dim: int, sizes: Sequence[Any]) -> Value:
    axis = dim % input.type.rank
    return split(build, input, axis, filled_sizes(sizes, input.type.shape[axis]), list(sizes))


@operator("aten.view.dtype")
def reinterpreted(build: Builder, input: Value, dtype: Any) -> Value:
    name = dtype_of(dtype) or input.type.dtype
    if ITEMSIZE[name] != ITEMSIZE[input.type.dtype]:
        raise RuleError("the bytes of a tensor as elements of another size are not expressible")
    return input if name == input.type.dtype else build.line("bitcast", [input], {"dtype": name})
