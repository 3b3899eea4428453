"""Gradient of a norm of vectors."""

from __future__ import annotations

import math

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels._elementwise import select


def norm_gradient(x: Array, norm: Array, h: Array, p: float, axes: tuple[int, ...]) -> Array:
    """Return h·∂‖x‖ₚ/∂x, where the norm along ``axes`` and its gradient h have axes of size 1.

    The subgradients are PyTorch's: 0 at a norm of zero, and equal shares for equal extremes.
    """
    gradient: Array
    if p == 1:
        return h * np.sign(x)
    if p == 2:
        return x * select(norm == 0, 0, h / norm)
    size = np.abs(x)
    if math.isinf(p):
        extreme = select(np.isnan(x), True, size == norm)
        share = h / np.add.reduce(extreme.astype(x.dtype), axis=axes, keepdims=True)
        gradient = np.sign(x) * select(extreme, share, np.zeros_like(x))
        return gradient
    power = np.power(size, p - 1)
    if p < 1:
        power = select(x == 0, 0, power)
    gradient = np.sign(x) * power * select(norm == 0, 0, h * np.power(norm, 1 - p))
    return gradient
