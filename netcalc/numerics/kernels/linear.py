"""Kernels of :mod:`netcalc.ops.linear`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, given, kernel, wide
from netcalc.ops.linear import Bilinear, Linear


@kernel("linear")
def linear(
    op: Linear,
    run: Run,
    x: Array,
    matrix: Array | None = None,
    shift: Array | None = None,
    *,
    weight: Array | None = None,
    bias: Array | None = None,
) -> Array:
    y: Array = np.matmul(wide(x), given(matrix, weight).T)
    if shift is not None or bias is not None:
        y += given(shift, bias)
    return y.astype(x.dtype, copy=False)


@kernel("bilinear")
def bilinear(op: Bilinear, run: Run, x1: Array, x2: Array, *, weight: Array, bias: Array | None = None) -> Array:
    out, in1, in2 = weight.shape
    left = np.matmul(wide(x1), wide(weight).transpose(1, 0, 2).reshape(in1, out * in2))
    y: Array = np.matmul(left.reshape(*x1.shape[:-1], out, in2), wide(x2)[..., None])[..., 0]
    if bias is not None:
        y += wide(bias)
    return y.astype(x1.dtype, copy=False)
