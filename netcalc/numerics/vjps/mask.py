"""Products of :mod:`netcalc.ops.mask`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels.mask import diagonal_of
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.mask import Tril, Triu


@vjp("tril")
def tril(op: Tril, back: Back, gradient: Array) -> Gradients:
    return {0: np.tril(np.asarray(gradient), diagonal_of(op, gradient))}


@vjp("triu")
def triu(op: Triu, back: Back, gradient: Array) -> Gradients:
    return {0: np.triu(np.asarray(gradient), diagonal_of(op, gradient))}
