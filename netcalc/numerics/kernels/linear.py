"""Kernels of :mod:`netcalc.ops.linear`."""

from __future__ import annotations

import numpy as np

from netcalc.numerics.kernels import Array, Run, kernel
from netcalc.ops.linear import Linear


@kernel("linear")
def linear(op: Linear, run: Run, x: Array, *, weight: Array, bias: Array | None = None) -> Array:
    y: Array = np.matmul(x, weight.T)
    if bias is not None:
        y += bias
    return y
