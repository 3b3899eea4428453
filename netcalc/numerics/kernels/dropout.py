"""Kernels of :mod:`netcalc.ops.dropout`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, like
from netcalc.ops.dropout import Dropout, StochasticDepth


def kept_scale(p: float) -> float:
    """Return the factor of the elements that are kept, which keeps the mean; 0 if all are dropped."""
    return 1 / (1 - p) if p < 1 else 0.0


@kernel("dropout", "stochastic_depth")
def drop(op: Dropout | StochasticDepth, run: Run, x: Array) -> Array:
    if not run.training:
        return x
    kept_axes = x.ndim  # the mask has size 1 in the others
    if isinstance(op, StochasticDepth):
        kept_axes = 1 if op.mode == "row" else 0
    elif op.channelwise:
        kept_axes = 2
    shape = [size if axis < kept_axes else 1 for axis, size in enumerate(x.shape)]
    remains = like(x, np.asarray(run.rng.random(shape))) >= op.p
    mask = np.where(remains, x.dtype.type(kept_scale(op.p)), x.dtype.type(0))
    if isinstance(op, Dropout) and not op.channelwise:
        run.keep(result1=remains)
    else:
        run.keep(other=mask)
    return x * like(x, mask)
