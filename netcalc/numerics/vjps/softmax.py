"""Products of :mod:`netcalc.ops.softmax`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.softmax import LogSoftmax, Softmax


@vjp("softmax")
def softmax(op: Softmax, back: Back, gradient: Array) -> Gradients:
    g, y = wide(gradient), wide(back.saved["result"])
    mean = np.add.reduce(g * y, axis=op.axis, keepdims=True)
    return {0: y * (g - mean)}


@vjp("log_softmax")
def log_softmax(op: LogSoftmax, back: Back, gradient: Array) -> Gradients:
    g, y = wide(gradient), wide(back.saved["result"])
    return {0: g - np.exp(y) * np.add.reduce(g, axis=op.axis, keepdims=True)}
