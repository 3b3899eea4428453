"""Products of :mod:`netcalc.ops.position`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like, wide
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._broadcast import summed_to
from netcalc.ops.position import LearnedPositions, SinusoidalPositions


@vjp("learned_positions", "sinusoidal_positions")
def positions(op: LearnedPositions | SinusoidalPositions, back: Back, gradient: Array) -> Gradients:
    gradients: Gradients = {}
    if back.wants(0):
        gradients[0] = gradient if op.add else np.zeros(back.shape())
    if back.wants("weight"):
        assert isinstance(op, LearnedPositions)
        g = wide(gradient)
        rows = back.shape()[-2]
        table = like(g, np.zeros((op.max_length, g.shape[-1]), g.dtype))
        table[op.offset : op.offset + rows] = summed_to(g, g.shape[-2:])
        gradients["weight"] = table
    return gradients
