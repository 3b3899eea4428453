"""Products of :mod:`netcalc.ops.conv`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.kernels._windows import extents, pad
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._windows import filter_gradient, spread, without_padding
from netcalc.ops.conv import Convolution


@vjp("conv1d", "conv2d", "conv3d")
def convolution(op: Convolution, back: Back, gradient: Array) -> Gradients:
    shape = back.shape()
    sizes = shape[-op.axes :]
    g = wide(gradient).reshape(-1, *gradient.shape[-op.axes - 1 :])
    pads = extents(op.padding, sizes, op.kernel, op.stride, op.dilation)
    gradients: Gradients = {}
    if back.wants(0):
        padded = [size + before + after for size, (before, after) in zip(sizes, pads, strict=True)]
        of_padded = spread(g, wide(back.saved["weight"]), padded, op.stride, op.dilation, op.groups)
        gradients[0] = without_padding(of_padded, sizes, pads, op.padding_mode).reshape(shape)
    for source in back.among("weight", 1):
        x = wide(back.saved["input"])
        x = pad(x.reshape(-1, *shape[-op.axes - 1 :]), pads, op.padding_mode)
        filters = filter_gradient(x, g, op.kernel, op.stride, op.dilation, op.groups)
        if op.weight_standardization:
            filters = _unstandardized(filters, wide(back.saved["weight"]), wide(back.saved["result2"]))
        gradients[source] = filters
    for source in back.among("bias", 2):
        gradients[source] = np.add.reduce(g, axis=(0, *range(2, g.ndim)))
    return gradients


def _unstandardized(gradient: Array, standardized: Array, scale: Array) -> Array:
    """Return the gradient of filters that were shifted to mean 0 and multiplied by ``scale`` for variance 1."""
    g, z = (array.reshape(len(array), -1) for array in (gradient, standardized))
    taps = g.shape[1]
    mean = np.add.reduce(g, axis=1, keepdims=True) / taps
    along = np.add.reduce(g * z, axis=1, keepdims=True) / taps
    return ((g - mean - z * along) * scale[:, None]).reshape(gradient.shape)
