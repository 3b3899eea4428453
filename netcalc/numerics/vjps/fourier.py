"""Products of :mod:`netcalc.ops.fourier`."""

from __future__ import annotations

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.kernels.fourier import transformed
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.fourier import Fourier


@vjp("fourier")
def fourier(op: Fourier, back: Back, gradient: Array) -> Gradients:
    return {0: transformed(op, back.note, wide(gradient))}
