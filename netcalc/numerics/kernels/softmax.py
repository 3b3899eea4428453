"""Kernels of :mod:`netcalc.ops.softmax`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, wide
from netcalc.ops.softmax import LogSoftmax, Softmax


def log_softmax_along(x: Array, axis: int) -> Array:
    """Return x − max − ln Σ exp(x − max)."""
    shifted = x - np.maximum.reduce(x, axis=axis, keepdims=True)
    return shifted - np.log(np.add.reduce(np.exp(shifted), axis=axis, keepdims=True))


@kernel("softmax")
def softmax(op: Softmax, run: Run, x: Array) -> Array:
    inner = wide(x)
    powers = np.exp(inner - np.maximum.reduce(inner, axis=op.axis, keepdims=True))
    y: Array = powers / np.add.reduce(powers, axis=op.axis, keepdims=True)
    return y.astype(x.dtype, copy=False)


@kernel("log_softmax")
def log_softmax(op: LogSoftmax, run: Run, x: Array) -> Array:
    return log_softmax_along(wide(x), op.axis).astype(x.dtype, copy=False)
