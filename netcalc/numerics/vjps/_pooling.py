"""Helpers of products of pooling: gradients of windows, and of the elements that windows select."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like, wide
from netcalc.numerics.kernels._pooling import Windows
from netcalc.numerics.kernels._windows import Index, taps


def spread_windows(windows: Windows, values: Array, sizes: Sequence[int]) -> Array:
    """Return the sums of the values of all windows that hold an element, for each element of axes of these sizes."""
    lead = values.shape[: -len(sizes)]
    padded = [size + before + after for size, (before, after) in zip(sizes, windows.reach, strict=True)]
    canvas = like(values, np.zeros((*lead, *padded), values.dtype))
    for index in taps(windows.kernel, windows.stride, windows.dilation, windows.counts):
        canvas[index] += values
    inside: Index = (..., *(slice(a, a + size) for (a, _), size in zip(windows.reach, sizes, strict=True)))
    result: Array = canvas[inside]
    return result


def routed(gradient: Array, indices: Array, shape: Sequence[int], axes: int, valid: Array | None = None) -> Array:
    """Return the gradient of an array from which elements were selected, by their indices in its flat last axes.

    Args:
        valid: False for results that select nothing; their gradient is dropped.
    """
    size = math.prod(shape[-axes:])
    places = np.asarray(indices)
    if valid is not None:
        places = np.where(valid, places, size)
    rows = math.prod(shape[:-axes])
    canvas = like(gradient, np.zeros((rows * (size + 1),), wide(gradient).dtype))
    starts = np.arange(rows)[:, None] * (size + 1)  # the last element of each row takes what is dropped
    np.add.at(canvas, (places.reshape(rows, -1) + starts).reshape(-1), wide(gradient).reshape(-1))
    return canvas.reshape(rows, size + 1)[:, :-1].reshape(shape)
