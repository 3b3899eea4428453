"""Kernels of :mod:`netcalc.ops.shape`."""

from __future__ import annotations

import numpy as np

from netcalc.numerics.kernels import Array, Run, kernel
from netcalc.ops.shape import Flatten, Permute, Reshape, Squeeze, Transpose, Unflatten, Unsqueeze


@kernel("reshape")
def reshape(op: Reshape, run: Run, x: Array) -> Array:
    return x.reshape(op.shape)


@kernel("flatten")
def flatten(op: Flatten, run: Run, x: Array) -> Array:
    first, last = op.start_axis % x.ndim, op.end_axis % x.ndim
    return x.reshape(*x.shape[:first], -1, *x.shape[last + 1 :])


@kernel("unflatten")
def unflatten(op: Unflatten, run: Run, x: Array) -> Array:
    axis = op.axis % x.ndim
    return x.reshape(*x.shape[:axis], *op.sizes, *x.shape[axis + 1 :])


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
