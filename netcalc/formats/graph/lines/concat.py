"""Joined tensors, and tensors in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from netcalc.dims import Dim
from netcalc.dtypes import DType, promote
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.slicing import part
from netcalc.formats.graph.model import Value


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


def pieces(
    build: Builder, input: Value, axis: int, sizes: Sequence[Dim], operation: str, attributes: dict[str, Any]
) -> list[Value]:
    """Return the pieces of an axis by one operation, or of a stored tensor as views."""
    are_fixed = all(isinstance(size, int) and size > 0 for size in sizes)
    has_views = input.stored is not None and axis % input.type.rank == 0 and not input.stored.transpose
    if len(sizes) == 1:
        return [input]
    if 0 in sizes or (has_views and are_fixed):
        ends = list(accumulate(sizes))
        return [part(build, input, axis, stop - size, stop) for size, stop in zip(sizes, ends, strict=True)]
    return list(build.lines(operation, [input], {"axis": None if axis == 1 else axis, **attributes}))
