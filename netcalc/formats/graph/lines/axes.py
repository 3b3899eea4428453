"""Axes in another order."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value


def permuted(build: Builder, input: Value, axes: Sequence[int], named: Sequence[int] | None = None) -> Value:
    """Return a value with its axes in another order; ``named`` are two axes that the source names.

    A stored matrix that is transposed remains a weight, with the axes swapped.
    """
    order = list(axes)
    if order == sorted(order):
        return input
    if input.stored is not None and len(order) == 2:
        stored = input.stored._replace(transpose=not input.stored.transpose)
        return Value(input.type.with_shape(*input.type.shape[::-1]), input.hint, stored)
    moved = [axis for place, axis in enumerate(order) if axis != place]
    if len(moved) == 2:
        return build.line("transpose", [input], {"axes": list(named or sorted(moved))})
    return build.line("permute", [input], {"axes": order})


def swapped(rank: int, a: int, b: int) -> list[int]:
    """Return the order of axes in which two are swapped."""
    order = list(range(rank))
    order[a], order[b] = order[b], order[a]
    return order
