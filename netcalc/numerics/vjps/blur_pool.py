"""Products of :mod:`netcalc.ops.blur_pool`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._windows import spread, without_padding
from netcalc.ops.blur_pool import BlurPool2d


@vjp("blur_pool2d")
def blur_pool2d(op: BlurPool2d, back: Back, gradient: Array) -> Gradients:
    *_, channels, height, width = shape = back.shape()
    g = wide(gradient).reshape(-1, *gradient.shape[-3:])
    filt = wide(back.saved["weight"])
    filters = np.broadcast_to(filt, (channels, *filt.shape[1:]), subok=True)
    pads = [((s + op.filt_size - 2) // 2,) * 2 for s in op.stride]
    padded = [size + 2 * before for size, (before, _) in zip((height, width), pads, strict=True)]
    of_padded = spread(g, filters, padded, op.stride, (1, 1), channels)
    return {0: without_padding(of_padded, (height, width), pads, op.pad_mode).reshape(shape)}
