"""Kernels of :mod:`netcalc.ops.shape`."""

from __future__ import annotations

from math import prod

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel
from netcalc.ops.shape import Flatten, Reshape, Unflatten


@kernel("reshape")
def reshape(op: Reshape, run: Run, x: Array) -> Array:
    return x.reshape(op.shape)


@kernel("flatten")
def flatten(op: Flatten, run: Run, x: Array) -> Array:
    first, last = op.start_axis % x.ndim, op.end_axis % x.ndim
    return x.reshape(*x.shape[:first], prod(x.shape[first : last + 1]), *x.shape[last + 1 :])


@kernel("unflatten")
def unflatten(op: Unflatten, run: Run, x: Array) -> Array:
    axis = op.axis % x.ndim
    others = prod(size for size in op.sizes if size != -1)
    sizes = (x.shape[axis] // others if size == -1 else size for size in op.sizes)
    return x.reshape(*x.shape[:axis], *sizes, *x.shape[axis + 1 :])
