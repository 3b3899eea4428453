"""Kernels of :mod:`netcalc.ops.conv`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, given, kernel, wide
from netcalc.numerics.kernels._windows import correlate, extents, pad
from netcalc.ops.conv import Convolution


@kernel("conv1d", "conv2d", "conv3d")
def convolution(
    op: Convolution,
    run: Run,
    x: Array,
    filters: Array | None = None,
    shift: Array | None = None,
    *,
    weight: Array | None = None,
    bias: Array | None = None,
) -> Array:
    batched, weight = wide(x if x.ndim == op.axes + 2 else x[None]), given(filters, weight)
    if op.weight_standardization:
        weight, deviation = _standardized(weight, op.standardization_eps)
        if run.kept is not None:
            run.keep(weight=weight.astype(x.dtype, copy=False), result2=1 / np.asarray(deviation))
    padded = pad(batched, extents(op.padding, batched.shape[2:], op.kernel, op.stride, op.dilation), op.padding_mode)
    y = correlate(padded, weight, op.stride, op.dilation, op.groups)
    if shift is not None or bias is not None:
        y += given(shift, bias).reshape(-1, *(1,) * op.axes)
    return y.reshape(*x.shape[: -op.axes - 1], *y.shape[1:]).astype(x.dtype, copy=False)


def _standardized(weight: Array, eps: float) -> tuple[Array, Array]:
    """Return filters of mean 0 and variance 1, and the deviation of each by which it was divided."""
    flat = weight.reshape(len(weight), -1)
    taps = flat.shape[1]
    centered = flat - np.add.reduce(flat, axis=1, keepdims=True) / taps
    variance = np.add.reduce(np.square(centered), axis=1, keepdims=True) / taps
    deviation: Array = np.sqrt(variance + eps)
    return (centered / deviation).reshape(weight.shape), deviation[:, 0]
