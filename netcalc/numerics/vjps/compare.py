"""Products of :mod:`netcalc.ops.compare`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._broadcast import summed_to
from netcalc.ops.compare import MaskedFill, Where


@vjp("where")
def where(op: Where, back: Back, gradient: Array) -> Gradients:
    g, taken = wide(gradient), np.asarray(back.saved["condition"])
    return back.only(
        {
            1: lambda: summed_to(select(~taken, 0, g), back.shape(1)),
            2: lambda: summed_to(select(taken, 0, g), back.shape(2)),
        }
    )


@vjp("masked_fill")
def masked_fill(op: MaskedFill, back: Back, gradient: Array) -> Gradients:
    return {0: summed_to(select(back.saved["mask"], 0, wide(gradient)), back.shape())}
