"""Joined and repeated tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim
from netcalc.dtypes import DType, promote
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators.axes import atleast_1d, atleast_2d, atleast_3d, expanded
from netcalc.formats.torch.operators.views import reshaped


@operator("aten.cat.default", "aten.concat.default", "aten.concatenate.default")
def cat(build: Builder, tensors: Sequence[Value], dim: int) -> Value:
    rank = max(tensor.type.rank for tensor in tensors)
    joined = [tensor for tensor in tensors if tensor.type.shape != (0,) or rank == 1]  # torch leaves out shape [0]
    return concatenated(build, joined, dim)


@operator("aten.stack.default")
def stack(build: Builder, tensors: Sequence[Value], dim: int) -> Value:
    if len(tensors) == 1:
        return build.line("unsqueeze", tensors, {"axis": dim})
    return build.line("stack", tensors, {"axis": None if dim == 1 else dim})


@operator("aten.hstack.default")
def hstack(build: Builder, tensors: Sequence[Value]) -> Value:
    joined = [atleast_1d(build, tensor) for tensor in tensors]
    return concatenated(build, joined, 0 if joined[0].type.rank == 1 else 1)


@operator("aten.vstack.default")
def vstack(build: Builder, tensors: Sequence[Value]) -> Value:
    return concatenated(build, [atleast_2d(build, tensor) for tensor in tensors], 0)


@operator("aten.dstack.default")
def dstack(build: Builder, tensors: Sequence[Value]) -> Value:
    return concatenated(build, [atleast_3d(build, tensor) for tensor in tensors], 2)


@operator("aten.column_stack.default")
def column_stack(build: Builder, tensors: Sequence[Value]) -> Value:
    return concatenated(build, [_column(build, tensor) for tensor in tensors], 1)


@operator("aten.block_diag.default")
def block_diag(build: Builder, tensors: Sequence[Value]) -> Value:
    blocks = [atleast_2d(build, tensor) for tensor in tensors]
    width = sum(block.type.shape[1] for block in blocks)
    rows: list[Value] = []
    before: Dim = 0
    for block in blocks:
        after = width - before - block.type.shape[1]
        padded = build.line("pad", [block], {"padding": [[before, after]]}) if before or after else block
        rows.append(padded)
        before += block.type.shape[1]
    return concatenated(build, rows, 0)


@operator("aten.cartesian_prod.default")
def cartesian_prod(build: Builder, tensors: Sequence[Value]) -> Value:
    if len(tensors) == 1:
        return tensors[0]
    grids = [reshaped(build, grid, [-1]) for grid in meshgrid(build, tensors)]
    return stack(build, grids, 1)


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


def _column(build: Builder, input: Value) -> Value:
    return build.line("unsqueeze", [atleast_1d(build, input)], {"axis": 1}) if input.type.rank < 2 else input


def concatenated(build: Builder, tensors: Sequence[Value], axis: int) -> Value:
    """Return tensors joined along an axis; those without elements there are left out."""
    joined = [tensor for tensor in tensors if tensor.type.shape[axis] != 0] or list(tensors[:1])
    if _dtype(joined) != _dtype(tensors):
        joined = list(tensors)
    if len(joined) == 1:
        return joined[0]
    return build.line("concat", joined, {"axis": None if axis == 1 else axis})


def _dtype(tensors: Sequence[Value]) -> DType:
    return promote(*(tensor.type.dtype for tensor in tensors))


def tiled(build: Builder, input: Value, repeats: Sequence[Any]) -> Value:
    """Return a tensor repeated along its axes, and along new ones in front; by a view where these have size 1."""
    shape = (1,) * (len(repeats) - input.type.rank) + input.type.shape
    if all(times == 1 or size == 1 for times, size in zip(repeats, shape, strict=True)):
        return expanded(build, input, [times if size == 1 else -1 for times, size in zip(repeats, shape, strict=True)])
    return build.line("tile", [input], {"repeats": list(repeats)})
