"""Axes in another order, added and removed."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.axes import permuted, swapped
from netcalc.formats.graph.lines.operands import single
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators.complex_numbers import conjugates


@operator("aten.transpose.int", "aten.transpose_.default", "aten.transpose_copy.int")
def transpose(build: Builder, input: Value, dim0: int, dim1: int) -> Value:
    rank = max(input.type.rank, 1)
    return permuted(build, input, swapped(rank, dim0 % rank, dim1 % rank), [dim0, dim1])


@operator("aten.swapaxes.default", "aten.swapdims.default", "aten.swapaxes_.default", "aten.swapdims_.default")
def swapaxes(build: Builder, input: Value, **axes: int) -> Value:
    return transpose(build, input, *axes.values())


@operator("aten.t.default", "aten.t_.default", "aten.t_copy.default", "aten.numpy_T.default")
def reversed_axes(build: Builder, input: Value) -> Value:
    return permuted(build, input, range(input.type.rank)[::-1])


@operator("aten.mT.default")
def matrix_transpose(build: Builder, input: Value) -> Value:
    return transpose(build, input, -2, -1)


@operator("aten.mH.default", "aten.adjoint.default", "aten.matrix_H.default")
def adjoint(build: Builder, input: Value) -> Value:
    return transpose(build, conjugates(build, input), -2, -1)


@operator("aten.permute.default", "aten.permute_copy.default")
def permute(build: Builder, input: Value, dims: Sequence[int]) -> Value:
    return permuted(build, input, [axis % input.type.rank for axis in dims])


@operator("aten.movedim.intlist", "aten.moveaxis.intlist")
def movedim(build: Builder, input: Value, source: Sequence[int], destination: Sequence[int]) -> Value:
    rank = max(input.type.rank, 1)
    moved = {to % rank: axis % rank for axis, to in zip(source, destination, strict=True)}
    others = iter(axis for axis in range(rank) if axis not in moved.values())
    return permuted(build, input, [moved[place] if place in moved else next(others) for place in range(rank)])


@operator("aten.movedim.int", "aten.moveaxis.int")
def moveaxis(build: Builder, input: Value, source: int, destination: int) -> Value:
    return movedim(build, input, [source], [destination])


@operator(
    *("aten.squeeze.default", "aten.squeeze.dim", "aten.squeeze.dims"),
    *("aten.squeeze_.default", "aten.squeeze_.dim", "aten.squeeze_.dims"),
)
def squeeze(build: Builder, input: Value, dim: int | Sequence[int] | None = None) -> Value:
    """Leave out the axes of size 1 among those given, or among all."""
    shape = input.type.shape
    axes = range(len(shape)) if dim is None else [dim] if isinstance(dim, int) else dim
    removed = sorted({axis % max(len(shape), 1) for axis in axes if shape})
    removed = [axis for axis in removed if shape[axis] == 1]
    if not removed:
        return input
    return build.line("squeeze", [input], {"axis": single(removed)})


@operator("aten.unsqueeze.default", "aten.unsqueeze_.default")
def unsqueeze(build: Builder, input: Value, dim: int) -> Value:
    return build.line("unsqueeze", [input], {"axis": dim})


@operator("aten.atleast_1d.default")
def atleast_1d(build: Builder, input: Value) -> Value:
    return input if input.type.rank else unsqueeze(build, input, 0)


@operator("aten.atleast_2d.default")
def atleast_2d(build: Builder, input: Value) -> Value:
    return input if input.type.rank > 1 else unsqueeze(build, atleast_1d(build, input), 0)


@operator("aten.atleast_3d.default")
def atleast_3d(build: Builder, input: Value) -> Value:
    return input if input.type.rank > 2 else unsqueeze(build, atleast_2d(build, input), 2)
