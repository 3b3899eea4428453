"""Kernels of :mod:`netcalc.ops.dropout`."""

from __future__ import annotations

import numpy as np

from netcalc.numerics.kernels import Array, Run, kernel, like
from netcalc.ops.dropout import Dropout, StochasticDepth


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
    kept = like(x, np.asarray(run.rng.random(shape))) >= op.p
    scale = 1 / (1 - op.p) if op.p < 1 else 0.0
    mask = np.where(kept, x.dtype.type(scale), x.dtype.type(0))
    return x * like(x, mask)
