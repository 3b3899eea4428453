"""Kernels of :mod:`netcalc.ops.sorting`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, like, wide
from netcalc.ops.sorting import Cummax, Cummin, Sort, Topk


def ranking(run: Run, x: Array, k: int, *, axis: int = -1, largest: bool = True) -> Array:
    """Return the indices of the first k sorted elements along an axis, equal ones by index; count the comparisons.

    Comparisons are counted as in a tournament: all elements but the first lose once, and each next element is the best
    of the ⌈log₂ n⌉ elements that lost to the one before.
    """
    keys = np.asarray(wide(x))
    n = keys.shape[axis]
    if largest:  # reversed, so that a stable ascending sort, read backwards, keeps equal elements in order
        order = n - 1 - np.flip(np.argsort(np.flip(keys, axis), axis=axis, kind="stable"), axis)
    else:
        order = np.argsort(keys, axis=axis, kind="stable")
    rounds = max(n - 1, 0).bit_length()
    run.note("compare", keys.size // n * (n - 1 + (k - 1) * (rounds - 1)))
    return np.take(order, range(k), axis=axis)


def taken(x: Array, indices: Array, axis: int = -1) -> Array:
    """Return the elements of ``x`` at these indices along an axis."""
    return like(x, np.take_along_axis(np.asarray(x), np.asarray(indices), axis))


def _register(name: str, search: Callable[..., Any]) -> None:
    @kernel(name)
    def arg(op: Any, run: Run, x: Array) -> Array:
        indices = np.asarray(search(np.asarray(wide(x)), axis=op.axis if x.ndim else None, keepdims=op.keepdim))
        run.note("compare", x.size - indices.size)
        return indices.astype(np.int64, copy=False)


_register("argmax", np.argmax)
_register("argmin", np.argmin)


@kernel("topk")
def topk(op: Topk, run: Run, x: Array) -> tuple[Array, Array]:
    return _first_elements(run, x, op.k if x.ndim else None, op.axis, op.largest)


@kernel("sort")
def sort(op: Sort, run: Run, x: Array) -> tuple[Array, Array]:
    return _first_elements(run, x, x.shape[op.axis] if x.ndim else None, op.axis, op.descending)


@kernel("cummax")
def cummax(op: Cummax, run: Run, x: Array) -> tuple[Array, Array]:
    return _so_far(np.maximum, op.axis, run, x)


@kernel("cummin")
def cummin(op: Cummin, run: Run, x: Array) -> tuple[Array, Array]:
    return _so_far(np.minimum, op.axis, run, x)


def _so_far(ufunc: np.ufunc, axis: int, run: Run, x: Array) -> tuple[Array, Array]:
    if not x.ndim:
        return x, np.zeros((), np.int64)
    keys = np.moveaxis(np.asarray(x), axis, -1)
    values = ufunc.accumulate(keys, axis=-1)
    places = np.where((keys == values) | np.isnan(wide(keys)), np.arange(keys.shape[-1]), 0)
    run.note("compare", x.size - x.size // max(x.shape[axis], 1))
    indices = np.maximum.accumulate(places, axis=-1)
    return like(x, np.moveaxis(values, -1, axis)), np.moveaxis(indices, -1, axis)


def _first_elements(run: Run, x: Array, k: int | None, axis: int, largest: bool) -> tuple[Array, Array]:
    if k is None:  # a scalar is sorted
        return x, np.zeros((), np.int64)
    indices = ranking(run, x, k, axis=axis, largest=largest)
    return taken(x, indices, axis), indices
