"""Kernels of :mod:`netcalc.ops.slicing`."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, like
from netcalc.numerics.kernels.indexing import checked_index
from netcalc.ops.slicing import Flip, Gather, IndexSelect, Roll, Select, Slice


@kernel("slice")
def slices(op: Slice, run: Run, x: Array) -> Array:
    index: list[Any] = [slice(None)] * x.ndim
    count = len(op.axis)
    ends = (values if len(values) == count else values * count for values in (op.start, op.stop, op.step))
    for axis, start, stop, step in zip(op.axis, *ends, strict=True):
        index[axis] = slice(start, stop, step)
    part: Array = x[tuple(index)]
    return part


@kernel("select")
def select(op: Select, run: Run, x: Array) -> Array:
    part: Array = np.moveaxis(x, op.axis, 0)[op.index, ...]
    return part


@kernel("gather")
def gather(op: Gather, run: Run, x: Array, index: Array) -> Array:
    places = checked_index(op.name, index, x.shape[op.axis])
    axis = op.axis % x.ndim
    part = x[tuple(slice(None) if other == axis else slice(size) for other, size in enumerate(index.shape))]
    return like(x, np.take_along_axis(np.asarray(part), places, axis))


@kernel("index_select")
def index_select(op: IndexSelect, run: Run, x: Array, index: Array | None = None) -> Array:
    places = np.array(op.indices) if index is None else checked_index(op.name, index, x.shape[op.axis]).reshape(-1)
    return np.take(x, places, op.axis)


@kernel("roll")
def roll(op: Roll, run: Run, x: Array) -> Array:
    return np.roll(x, op.shifts if op.axis else op.shifts[0], op.axis)


@kernel("flip")
def flip(op: Flip, run: Run, x: Array) -> Array:
    return np.flip(x, op.axis)
