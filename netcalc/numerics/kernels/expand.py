"""Kernels of :mod:`netcalc.ops.expand`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, like
from netcalc.ops.expand import Expand, RepeatInterleave, Tile


@kernel("expand")
def expand(op: Expand, run: Run, x: Array) -> Array:
    own_sizes = (1,) * (len(op.shape) - x.ndim) + x.shape
    sizes = tuple(size if target == -1 else target for target, size in zip(op.shape, own_sizes, strict=True))
    return like(x, np.broadcast_to(x, sizes))


@kernel("tile")
def tile(op: Tile, run: Run, x: Array) -> Array:
    return np.tile(x, op.repeats)


@kernel("repeat_interleave")
def repeat_interleave(op: RepeatInterleave, run: Run, x: Array) -> Array:
    return np.repeat(x, op.repeats, op.axis)
