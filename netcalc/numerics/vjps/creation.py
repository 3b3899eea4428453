"""Products of :mod:`netcalc.ops.creation`."""

from __future__ import annotations

from netcalc.arrays import Array
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.creation import LinearWeight, Parameter


@vjp("parameter", "linear_weight")
def parameter(op: Parameter | LinearWeight, back: Back, gradient: Array) -> Gradients:
    return dict.fromkeys(back.wanted, gradient)
