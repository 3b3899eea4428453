"""Products of :mod:`netcalc.ops.global_pool`."""

from __future__ import annotations

import math

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like, wide
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.global_pool import GlobalAvgPooling, GlobalMaxPooling, GlobalPooling


def _by_channel(op: GlobalPooling, array: Array) -> Array:
    """Return an array with a single element along each pooled axis."""
    return array if op.keepdim else array.reshape(*array.shape, *(1,) * op.axes)


@vjp("global_avg_pool1d", "global_avg_pool2d", "global_avg_pool3d")
def average(op: GlobalAvgPooling, back: Back, gradient: Array) -> Gradients:
    shape = back.shape()
    share = wide(gradient) / math.prod(shape[-op.axes :])
    return {0: np.broadcast_to(_by_channel(op, share), shape, subok=True)}


@vjp("global_max_pool1d", "global_max_pool2d", "global_max_pool3d")
def maximum(op: GlobalMaxPooling, back: Back, gradient: Array) -> Gradients:
    """Of equal largest elements each has the same share, as in PyTorch's ``amax``."""
    g = wide(gradient)
    largest = back.saved["self"] == _by_channel(op, back.saved["result"])
    inner = tuple(range(-op.axes, 0))
    share = _by_channel(op, g) / np.add.reduce(largest, axis=inner, keepdims=True, dtype=g.dtype)
    return {0: like(g, np.where(largest, share, g.dtype.type(0)))}
