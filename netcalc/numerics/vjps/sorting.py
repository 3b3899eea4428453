"""Products of :mod:`netcalc.ops.sorting`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like, wide
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.sorting import Cummax, Cummin, Sort, Topk


@vjp("cummax", "cummin")
def added(op: Cummax | Cummin, back: Back, gradient: Array, indices: None) -> Gradients:
    if not gradient.ndim:
        return {0: gradient}
    g = np.moveaxis(np.asarray(wide(gradient)), op.axis, -1)
    x = np.zeros(g.shape, g.dtype)
    lines = np.indices(g.shape, sparse=True)[:-1]
    np.add.at(x, (*lines, np.moveaxis(np.asarray(back.saved["indices"]), op.axis, -1)), g)
    back.note("add", g.size)
    return {0: like(gradient, np.moveaxis(x, -1, op.axis))}


@vjp("topk", "sort")
def placed(op: Topk | Sort, back: Back, gradient: Array, indices: None) -> Gradients:
    if not gradient.ndim:
        return {0: gradient}
    x = np.zeros(back.shape(), gradient.dtype)
    np.put_along_axis(x, np.asarray(back.saved["indices"]), np.asarray(gradient), op.axis)
    return {0: like(gradient, x)}
