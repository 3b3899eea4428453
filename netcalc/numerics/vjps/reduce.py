"""Products of :mod:`netcalc.ops.reduce`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from netcalc.numerics.kernels import Array, axes_of, like, wide
from netcalc.numerics.vjps import Back, Gradients, vjp


def kept(op: Any, back: Back, y: Array) -> Array:
    """Return an output, or its gradient, with the reduced axes of size 1."""
    shape = back.shape()
    axes = axes_of(op.axis, len(shape))
    return y.reshape([1 if axis in axes else size for axis, size in enumerate(shape)])


@vjp("sum")
def sum_(op: Any, back: Back, gradient: Array) -> Gradients:
    return {0: like(gradient, np.broadcast_to(kept(op, back, gradient), back.shape()))}


@vjp("mean")
def mean(op: Any, back: Back, gradient: Array) -> Gradients:
    g = wide(gradient)
    shape = back.shape()
    each = math.prod(shape[axis] for axis in axes_of(op.axis, len(shape)))
    return {0: like(g, np.broadcast_to(kept(op, back, g / each), shape))}
