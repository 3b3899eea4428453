"""Strides of tensors: dense ones, and the strides of a view in another shape."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

Shape: TypeAlias = tuple[int, ...]


def dense(shape: Sequence[int], itemsize: int, order: Sequence[int] | None = None) -> Shape:
    """Return the strides of a tensor without gaps whose axes have this order in memory, the innermost last."""
    strides, stride = [0] * len(shape), itemsize
    for axis in reversed(range(len(shape)) if order is None else order):
        strides[axis] = stride
        stride *= shape[axis]
    return tuple(strides)


def expanded(shape: Shape, strides: Shape, target: Shape) -> Shape:
    """Return the strides of the view of shape ``target`` that repeats axes of one element, and axes before them."""
    lead = len(target) - len(shape)
    own = zip(shape, target[lead:], strides, strict=True)
    return (*(0 for _ in range(lead)), *(0 if size == 1 != wanted else stride for size, wanted, stride in own))


def reshaped(shape: Shape, strides: Shape, target: Shape) -> Shape | None:
    """Return the strides of the view of shape ``target``, or None if there is no such view.

    Old and new axes are matched in groups of equal products; within a group the old axes must be contiguous.
    """
    if 0 in shape:
        return (0,) * len(target)
    old = [(size, stride) for size, stride in zip(shape, strides, strict=True) if size != 1]
    result: list[int] = []
    position = start = 0
    while position < len(target):
        if target[position] == 1:
            result.append(old[min(start, len(old) - 1)][1] if old else 1)
            position += 1
            continue
        ends = _matching_runs(old, start, target, position)
        if ends is None:
            return None
        end, stop = ends
        group = old[start:end]
        if any(outer[1] != inner[0] * inner[1] for outer, inner in pairwise(group)):
            return None
        new, stride = [], group[-1][1]
        for size in reversed(target[position:stop]):
            new.append(stride)
            stride *= size
        result += reversed(new)
        start, position = end, stop
    return tuple(result) if start == len(old) else None


def _matching_runs(old: Sequence[tuple[int, int]], start: int, target: Shape, position: int) -> tuple[int, int] | None:
    """Return the ends of the shortest runs of old axes and of target axes whose sizes have the same product."""
    end, stop, product, wanted = start, position, 1, 1
    while product != wanted or end == start:
        if int(product) < int(wanted) or end == start:  # which of them is longer says nothing about the view
            if end == len(old):
                return None
            product *= old[end][0]
            end += 1
        else:
            if stop == len(target):
                return None
            wanted *= target[stop]
            stop += 1
    return end, stop
