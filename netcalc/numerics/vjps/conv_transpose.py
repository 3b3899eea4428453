"""Products of :mod:`netcalc.ops.conv_transpose`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.kernels._windows import correlate
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._windows import embedded, filter_gradient
from netcalc.ops.conv_transpose import TransposedConvolution


@vjp("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def transposed(op: TransposedConvolution, back: Back, gradient: Array) -> Gradients:
    shape = back.shape()
    g = wide(gradient).reshape(-1, *gradient.shape[-op.axes - 1 :])
    # the windows of all products, also those that the padding removed
    canvas_sizes = [
        (n - 1) * s + d * (k - 1) + 1
        for n, s, d, k in zip(shape[-op.axes :], op.stride, op.dilation, op.kernel, strict=True)
    ]
    canvas = embedded(g, range(2, g.ndim), [before for before, _ in op.padding], canvas_sizes)
    gradients: Gradients = {}
    if back.wants(0):
        weight = wide(back.saved["weight"])
        gradients[0] = correlate(canvas, weight, op.stride, op.dilation, op.groups).reshape(shape)
    for source in back.among("weight", 1):
        x = wide(back.saved["input"]).reshape(-1, *shape[-op.axes - 1 :])
        gradients[source] = filter_gradient(canvas, x, op.kernel, op.stride, op.dilation, op.groups)
    for source in back.among("bias", 2):
        gradients[source] = np.add.reduce(g, axis=(0, *range(2, g.ndim)))
    return gradients
