"""Sums of gradients over the axes along which an operand was broadcast."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array


def summed_to(gradient: Array, shape: tuple[int, ...]) -> Array:
    """Return a gradient summed to the shape of the operand, which broadcasts to the gradient's shape."""
    if gradient.shape == shape:
        return gradient
    extra = gradient.ndim - len(shape)
    wide = (1,) * extra + shape
    axes = tuple(axis for axis, (size, of) in enumerate(zip(wide, gradient.shape, strict=True)) if size != of)
    total: Array = np.add.reduce(gradient, axis=axes, keepdims=True) if axes else gradient
    return total.reshape(shape)
