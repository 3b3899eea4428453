"""Products of :mod:`netcalc.ops.linear`."""

from __future__ import annotations

import numpy as np

from netcalc.numerics.kernels import Array, wide
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.linear import Linear


@vjp("linear")
def linear(op: Linear, back: Back, gradient: Array) -> Gradients:
    g = wide(gradient)
    rows = g.reshape(-1, g.shape[-1])
    found: Gradients = {}
    if back.wants(0):
        found[0] = np.matmul(g, wide(back.saved["weight"]))
    for source in back.among("weight", 1):
        x = wide(back.saved["input"])
        found[source] = np.matmul(rows.T, x.reshape(len(rows), x.shape[-1]))
    for source in back.among("bias", 2):
        found[source] = np.add.reduce(rows, axis=0)
    return found
