"""Kernels of :mod:`netcalc.ops.axes`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel
from netcalc.ops.axes import Permute, Squeeze, Transpose, Unsqueeze


@kernel("squeeze")
def squeeze(op: Squeeze, run: Run, x: Array) -> Array:
    named = range(x.ndim) if op.axis is None else op.axis
    return np.squeeze(x, tuple(axis for axis in named if x.shape[axis] == 1))


@kernel("unsqueeze")
def unsqueeze(op: Unsqueeze, run: Run, x: Array) -> Array:
    return np.expand_dims(x, op.axis)


@kernel("permute")
def permute(op: Permute, run: Run, x: Array) -> Array:
    return np.transpose(x, op.axes)


@kernel("transpose")
def transpose(op: Transpose, run: Run, x: Array) -> Array:
    return np.swapaxes(x, *op.axes)
