"""Products of :mod:`netcalc.ops.dropout`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.kernels.dropout import kept_scale
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.dropout import Dropout, StochasticDepth


@vjp("dropout", "stochastic_depth")
def drop(op: Dropout | StochasticDepth, back: Back, gradient: Array) -> Gradients:
    g = wide(gradient)
    if not back.training:
        return {0: g}
    if "other" in back.saved:
        return {0: g * wide(back.saved["other"])}
    return {0: select(~np.asarray(back.saved["result1"]), 0, g * kept_scale(op.p))}
