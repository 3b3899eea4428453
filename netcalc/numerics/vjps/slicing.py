"""Products of :mod:`netcalc.ops.slicing`."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.slicing import Flip, Gather, IndexSelect, Roll, Select, Slice


@vjp("slice")
def slices(op: Slice, back: Back, gradient: Array) -> Gradients:
    total = np.zeros(back.shape(), gradient.dtype)
    index: list[Any] = [slice(None)] * total.ndim
    for axis, start, stop, step in op.ranges():
        index[axis] = slice(start, stop, step)
    total[tuple(index)] = gradient
    return {0: total}


@vjp("select")
def select(op: Select, back: Back, gradient: Array) -> Gradients:
    total = np.zeros(back.shape(), gradient.dtype)
    np.moveaxis(total, op.axis, 0)[op.index] = gradient
    return {0: total}


@vjp("gather")
def gather(op: Gather, back: Back, gradient: Array) -> Gradients:
    index = np.asarray(back.saved["index"])
    places: list[Any] = list(np.ogrid[tuple(map(slice, index.shape))])
    places[op.axis] = index
    return {0: _scattered(back, tuple(places), wide(gradient))}


@vjp("index_select")
def index_select(op: IndexSelect, back: Back, gradient: Array) -> Gradients:
    index = np.array(op.indices) if op.indices is not None else np.asarray(back.saved["index"]).reshape(-1)
    axis = op.axis % len(back.shape())
    return {0: _scattered(back, (slice(None),) * axis + (index,), wide(gradient))}


@vjp("roll")
def roll(op: Roll, back: Back, gradient: Array) -> Gradients:
    shifts = [-shift for shift in op.shifts]
    return {0: np.roll(gradient, shifts if op.axis else shifts[0], op.axis)}


@vjp("flip")
def flip(op: Flip, back: Back, gradient: Array) -> Gradients:
    return {0: np.flip(gradient, op.axis)}


def _scattered(back: Back, places: tuple[Any, ...], gradient: Array) -> Array:
    """Return the gradient of the input: the sum of the gradients at each position."""
    total = np.zeros(back.shape(), gradient.dtype)
    np.add.at(total, places, gradient)
    return total
