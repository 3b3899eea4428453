"""Joined tensors, and tensors in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, ceil_div, divided, maximum
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.concat import concatenated, pieces
from netcalc.formats.graph.lines.shape import reshaped
from netcalc.formats.graph.lines.slicing import bound, part
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators.axes import atleast_1d, atleast_2d, atleast_3d
from netcalc.formats.torch.operators.expand import meshgrid


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


def _column(build: Builder, input: Value) -> Value:
    return build.line("unsqueeze", [atleast_1d(build, input)], {"axis": 1}) if input.type.rank < 2 else input


@operator("aten.split.Tensor", "aten.unsafe_split.Tensor")
def split(build: Builder, input: Value, split_size: Any, dim: int) -> list[Value]:
    size = input.type.shape[dim]
    if size == 0:
        return [input]
    count = _count(divided(size, split_size) or ceil_div(size, split_size))
    sizes = [*[split_size] * (count - 1), size - split_size * (count - 1)]
    return pieces(build, input, dim, sizes, "split", {"sizes": split_size})


@operator("aten.split.sizes", "aten.split_with_sizes.default", "aten.unsafe_split_with_sizes.default")
def split_with_sizes(build: Builder, input: Value, dim: int, **split: Sequence[Any]) -> list[Value]:
    (sizes,) = split.values()
    return pieces(build, input, dim, sizes, "split", {"sizes": list(sizes)})


@operator("aten.chunk.default", "aten.unsafe_chunk.default")
def chunk(build: Builder, input: Value, chunks: int, dim: int) -> list[Value]:
    size = input.type.shape[dim]
    if size == 0:
        return [input] * chunks
    each = divided(size, chunks) or ceil_div(size, chunks)
    count = _count(divided(size, each) or ceil_div(size, each))
    sizes = [*[each] * (count - 1), size - each * (count - 1)]
    return pieces(build, input, dim, sizes, "chunk", {"chunks": chunks})


@operator("aten.tensor_split.sections")
def tensor_split(build: Builder, input: Value, sections: int, dim: int) -> list[Value]:
    size = input.type.shape[dim]
    if divided(size, sections) is not None:
        return chunk(build, input, sections, dim)
    larger = size % sections
    sizes = [size // sections + (1 if place < larger else 0) for place in range(sections)]
    return pieces(build, input, dim, sizes, "split", {"sizes": sizes})


@operator("aten.tensor_split.indices")
def tensor_split_at(build: Builder, input: Value, indices: Sequence[Any], dim: int) -> list[Value]:
    size = input.type.shape[dim]
    ends = [bound(index, size) for index in indices]
    starts = [0, *ends]
    return [
        part(build, input, dim, start, maximum(start, stop)) for start, stop in zip(starts, [*ends, size], strict=True)
    ]


@operator("aten.hsplit.int")
def hsplit(build: Builder, input: Value, sections: int) -> list[Value]:
    return tensor_split(build, input, sections, min(input.type.rank - 1, 1))


@operator("aten.vsplit.int")
def vsplit(build: Builder, input: Value, sections: int) -> list[Value]:
    return tensor_split(build, input, sections, 0)


@operator("aten.dsplit.int")
def dsplit(build: Builder, input: Value, sections: int) -> list[Value]:
    return tensor_split(build, input, sections, 2)


def _count(count: Dim) -> int:
    if not isinstance(count, int):
        raise RuleError(f"the number of pieces, {count}, is symbolic")
    return count
