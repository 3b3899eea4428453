"""Products of :mod:`netcalc.ops.rectifier`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._elementwise import between, register
from netcalc.ops.rectifier import PReLU

register(
    {
        "relu": lambda op, g, y: select(y <= 0, 0, g),
        "relu6": lambda op, g, x: between(g, x, 0, 6),
        "leaky_relu": lambda op, g, x: select(x > 0, g, g * op.negative_slope),
        "squared_relu": lambda op, g, x: g * (2 * np.maximum(x, 0)),
    }
)


@vjp("prelu")
def prelu(op: PReLU, back: Back, gradient: Array) -> Gradients:
    g, x = wide(gradient), wide(back.saved["self"])
    positive = x > 0
    gradients: Gradients = {}
    if back.wants(0):
        weight = wide(back.saved["weight"])
        slope = weight.reshape(-1, *(1,) * (x.ndim - 2)) if x.ndim > 1 else weight.reshape(())
        gradients[0] = select(positive, g, g * slope)
    if back.wants("weight"):
        negative = select(positive, 0, g * x)
        if op.num_parameters > 1:
            axes = tuple(axis for axis in range(x.ndim) if axis != 1)
            gradients["weight"] = np.add.reduce(negative, axis=axes)
        else:
            gradients["weight"] = np.add.reduce(negative.reshape(-1), keepdims=True)
    return gradients
