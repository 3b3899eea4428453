"""Products of :mod:`netcalc.ops.shape`."""

from __future__ import annotations

from netcalc.arrays import Array
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.shape import Flatten, Reshape, Unflatten


@vjp("reshape", "flatten", "unflatten")
def reshaped(op: Reshape | Flatten | Unflatten, back: Back, gradient: Array) -> Gradients:
    return {0: gradient.reshape(back.shape())}
