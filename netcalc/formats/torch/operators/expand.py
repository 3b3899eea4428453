"""Repeated tensors, and copies in the shape of another tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._operands import cast
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


def expanded(build: Builder, input: Value, sizes: Sequence[Any]) -> Value:
    """Return a value repeated along axes of size 1, and along new axes in front; sizes that it has are not named."""
    added = len(sizes) - input.type.rank
    old = (None,) * added + input.type.shape
    target = [-1 if size in (-1, had) else size for size, had in zip(sizes, old, strict=True)]
    if all(size == -1 for size in target):
        return input
    if all(size in (-1, 1) for size in target) and added == 1:
        return build.line("unsqueeze", [input], {"axis": 0})
    return build.line("expand", [input], {"shape": target})


def broadcast_shape(shapes: Sequence[Sequence[Dim]]) -> tuple[Dim, ...]:
    """Return the shape to which shapes broadcast; the last axes are aligned."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(next((size for size in sizes if size != 1), 1) for sizes in zip(*padded, strict=True))


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


def tiled(build: Builder, input: Value, repeats: Sequence[Any]) -> Value:
    """Return a tensor repeated along its axes, and along new ones in front; by a view where these have size 1."""
    shape = (1,) * (len(repeats) - input.type.rank) + input.type.shape
    if all(times == 1 or size == 1 for times, size in zip(repeats, shape, strict=True)):
        return expanded(build, input, [times if size == 1 else -1 for times, size in zip(repeats, shape, strict=True)])
    return build.line("tile", [input], {"repeats": list(repeats)})


@operator("aten.copy.default")
def copy(build: Builder, input: Value, src: Value, non_blocking: bool) -> Value:
    return expanded(build, cast(build, src, input.type.dtype), input.type.shape)


@operator("aten.fill.Tensor")
def fill(build: Builder, input: Value, value: Value) -> Value:
    return copy(build, input, value, False)
