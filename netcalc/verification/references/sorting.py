"""References of :mod:`netcalc.ops.sorting`, by Python's stable sort."""

from __future__ import annotations

import math
from typing import Any

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference


def ranked(values: list[Any], *, largest: bool) -> list[int]:
    """Return the indices of numbers in order; NaN counts as largest, and equal numbers keep their order."""
    keys = [(math.inf, 1) if value != value else (value, 0) for value in values]
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=largest)


def _elements_along(x: Array, axis: int, rest: Shape) -> list[Any]:
    return [x[(*rest[:axis], place, *rest[axis:])].item() for place in range(x.shape[axis])]


@reference("argmax", "argmin")
def arg(op: Attributes, x: Array) -> Expected:
    axes = range(x.ndim) if op.axis is None else [op.axis % x.ndim] if x.ndim else []
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape) if op.keepdim or axis not in axes)

    def at(index: Shape) -> int:
        if op.axis is None or not x.ndim:
            values = [value.item() for value in x.flat]
        else:
            (axis,) = axes
            values = _elements_along(x, axis, (*index[:axis], *index[axis + 1 :]) if op.keepdim else index)
        nans = [place for place, value in enumerate(values) if value != value]
        best = max(values) if op.name == "argmax" else min(values)
        return nans[0] if nans else values.index(best)

    return Expected(shape, "int64", at, x.size if op.axis is None or not x.ndim else x.shape[op.axis])


def _first_elements(x: Array, axis: int, count: int, *, largest: bool) -> tuple[Expected, Expected]:
    if not x.ndim:
        return Expected((), x.dtype.name, lambda _: x[()]), Expected((), "int64", lambda _: 0)
    axis %= x.ndim
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])

    def place(index: Shape) -> int:
        line = _elements_along(x, axis, (*index[:axis], *index[axis + 1 :]))
        return ranked(line, largest=largest)[index[axis]]

    def value(index: Shape) -> Any:
        return x[(*index[:axis], place(index), *index[axis + 1 :])]

    reads = x.shape[axis]
    return Expected(shape, x.dtype.name, value, reads), Expected(shape, "int64", place, reads)


@reference("topk")
def topk(op: Attributes, x: Array) -> tuple[Expected, Expected]:
    return _first_elements(x, op.axis, op.k, largest=op.largest)


@reference("sort")
def sort(op: Attributes, x: Array) -> tuple[Expected, Expected]:
    return _first_elements(x, op.axis, x.shape[op.axis] if x.ndim else 1, largest=op.descending)


@reference("cummax", "cummin")
def so_far(op: Attributes, x: Array) -> tuple[Expected, Expected]:
    if not x.ndim:
        return Expected((), x.dtype.name, lambda _: x[()]), Expected((), "int64", lambda _: 0)
    axis = op.axis % x.ndim

    def place(index: Shape) -> int:
        best = 0
        line = _elements_along(x, axis, (*index[:axis], *index[axis + 1 :]))
        for number, value in enumerate(line[: index[axis] + 1]):
            held = line[best]
            beats = value >= held if op.name == "cummax" else value <= held
            if value != value or (held == held and beats):
                best = number
        return best

    def value(index: Shape) -> Any:
        return x[(*index[:axis], place(index), *index[axis + 1 :])]

    reads = x.shape[axis]
    return Expected(x.shape, x.dtype.name, value, reads), Expected(x.shape, "int64", place, reads)
