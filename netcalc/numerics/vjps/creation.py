"""Products of :mod:`netcalc.ops.creation`."""

from __future__ import annotations

from netcalc.arrays import Array
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.creation import Parameter


@vjp("parameter")
def parameter(op: Parameter, back: Back, gradient: Array) -> Gradients:
    return dict.fromkeys(back.wanted, gradient)
