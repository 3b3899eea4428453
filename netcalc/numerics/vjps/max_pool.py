"""Products of :mod:`netcalc.ops.max_pool`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels._pooling import Windows, windows_of
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._pooling import routed
from netcalc.ops.max_pool import MaxPooling


@vjp("max_pool1d", "max_pool2d", "max_pool3d")
def maximum(op: MaxPooling, back: Back, gradient: Array, indices: None = None) -> Gradients:
    shape = back.shape()
    valid = _has_elements(windows_of(op, shape[-op.axes :]), shape[-op.axes :])
    return {0: routed(gradient, back.saved["result1"], shape, op.axes, None if valid.all() else valid)}


def _has_elements(windows: Windows, sizes: Sequence[int]) -> Array:
    """Return True for windows with an element that is not padding."""
    by_axis: list[Array] = []
    for axis, size in enumerate(sizes):
        starts = np.arange(windows.counts[axis]) * windows.stride[axis] - windows.pads[axis][0]
        places = starts[:, None] + np.arange(windows.kernel[axis]) * windows.dilation[axis]
        by_axis.append(np.logical_or.reduce((places >= 0) & (places < size), axis=1))
    return reduce(np.logical_and.outer, by_axis)
