"""Kernels of :mod:`netcalc.ops.rectifier`."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, wide
from netcalc.numerics.kernels._elementwise import clamp, register, select
from netcalc.ops.rectifier import PReLU


def relu(x: Array) -> Array:
    """Return max(x, 0)."""
    return np.maximum(x, 0)


def _leaky(x: Array, slope: Any) -> Array:
    return select(x > 0, x, x * slope)


def _square(x: Array) -> Array:
    return x * x


register(
    {
        "relu": lambda op, x: relu(x),
        "relu6": lambda op, x: clamp(x, 0, 6),
        "leaky_relu": lambda op, x: _leaky(x, op.negative_slope),
        "squared_relu": lambda op, x: _square(relu(x)),
    }
)


@kernel("prelu")
def prelu(op: PReLU, run: Run, x: Array, *, weight: Array) -> Array:
    slope = weight.reshape(-1, *(1,) * (x.ndim - 2)) if x.ndim > 1 else weight.reshape(())
    return _leaky(wide(x), slope).astype(x.dtype, copy=False)
