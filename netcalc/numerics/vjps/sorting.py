"""Products of :mod:`netcalc.ops.sorting`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.sorting import Sort, Topk


@vjp("topk", "sort")
def placed(op: Topk | Sort, back: Back, gradient: Array, indices: None) -> Gradients:
    if not gradient.ndim:
        return {0: gradient}
    x = np.zeros(back.shape(), gradient.dtype)
    np.put_along_axis(x, np.asarray(back.saved["indices"]), np.asarray(gradient), op.axis)
    return {0: like(gradient, x)}
