"""Products of :mod:`netcalc.ops.expand`."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._broadcast import summed_to
from netcalc.ops.expand import Expand, RepeatInterleave, Tile


@vjp("expand")
def expand(op: Expand, back: Back, gradient: Array) -> Gradients:
    return {0: summed_to(wide(gradient), back.shape())}


@vjp("tile")
def tile(op: Tile, back: Back, gradient: Array) -> Gradients:
    shape = back.shape()
    rank = max(len(shape), len(op.repeats))
    sizes = (1,) * (rank - len(shape)) + shape
    repeats = (1,) * (rank - len(op.repeats)) + op.repeats
    copies = wide(gradient).reshape([part for pair in zip(repeats, sizes, strict=True) for part in pair])
    return {0: np.add.reduce(copies, axis=tuple(range(0, 2 * rank, 2))).reshape(shape)}


@vjp("repeat_interleave")
def repeat_interleave(op: RepeatInterleave, back: Back, gradient: Array) -> Gradients:
    g, shape = wide(gradient), back.shape()
    source = (int(np.prod(shape)),) if op.axis is None else shape
    axis = 0 if op.axis is None else op.axis % len(source)
    if len(op.repeats) == 1:
        copies = g.reshape(*source[: axis + 1], op.repeats[0], *source[axis + 1 :])
        return {0: np.add.reduce(copies, axis=axis + 1).reshape(shape)}
    total = np.zeros(source, g.dtype)
    places: Any = (slice(None),) * axis + (np.repeat(np.arange(source[axis]), op.repeats),)
    np.add.at(total, places, g)
    return {0: total.reshape(shape)}
