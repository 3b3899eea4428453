"""Repeated tensors, and copies in the shape of another tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.expand import broadcast_shape, expanded, tiled
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators.axes import atleast_1d


@operator("aten.expand.default", "aten.expand_copy.default", "aten.broadcast_to.default")
def expand(build: Builder, input: Value, size: Sequence[Any], implicit: bool = False) -> Value:
    return expanded(build, input, size)


@operator("aten.expand_as.default")
def expand_as(build: Builder, input: Value, other: Value) -> Value:
    return expanded(build, input, other.type.shape)


@operator("aten.broadcast_tensors.default")
def broadcast_tensors(build: Builder, tensors: Sequence[Value]) -> list[Value]:
    shape = broadcast_shape([tensor.type.shape for tensor in tensors])
    return [expanded(build, tensor, shape) for tensor in tensors]


@operator("aten.repeat.default")
def repeat(build: Builder, input: Value, repeats: Sequence[Any]) -> Value:
    return tiled(build, input, repeats)


@operator("aten.tile.default")
def tile(build: Builder, input: Value, dims: Sequence[Any]) -> Value:
    return tiled(build, input, [1] * (input.type.rank - len(dims)) + list(dims))


@operator("aten.repeat_interleave.self_int")
def repeat_interleave(build: Builder, input: Value, repeats: Any, dim: int | None, output_size: Any) -> Value:
    if repeats == 1 and dim is not None:
        return input
    return build.line("repeat_interleave", [input], {"repeats": repeats, "axis": dim})


@operator("aten.repeat_interleave.self_Tensor", "aten.repeat_interleave.Tensor")
def repeat_interleave_by(build: Builder, repeats: Value, **_: Any) -> Value:
    raise RuleError("the shape of the result depends on values: the numbers of repetitions are a tensor")


@operator("aten.meshgrid.default", "aten.meshgrid.indexing")
def meshgrid(build: Builder, tensors: Sequence[Value], indexing: str = "ij") -> list[Value]:
    vectors = [atleast_1d(build, tensor) for tensor in tensors]
    places = list(range(len(vectors)))
    if indexing == "xy" and len(places) > 1:
        places[:2] = 1, 0
    sizes: list[Any] = [1] * len(places)
    for place, vector in zip(places, vectors, strict=True):
        sizes[place] = vector.type.shape[0]
    grids = []
    for place, vector in zip(places, vectors, strict=True):
        after = len(places) - place - 1
        apart = build.line("unflatten", [vector], {"axis": 0, "sizes": [-1] + [1] * after}) if after else vector
        grids.append(expanded(build, apart, sizes))
    return grids


@operator("aten.copy.default")
def copy(build: Builder, input: Value, src: Value, non_blocking: bool) -> Value:
    return expanded(build, cast(build, src, input.type.dtype), input.type.shape)


@operator("aten.fill.Tensor")
def fill(build: Builder, input: Value, value: Value) -> Value:
    return copy(build, input, value, False)
