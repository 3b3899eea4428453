"""Kernels of :mod:`netcalc.ops.dropout`."""

from __future__ import annotations

import numpy as np

from netcalc.numerics.kernels import Array, Run, kernel, like
from netcalc.ops.dropout import Dropout, StochasticDepth
from netcalc.tensor_type import TensorType


@kernel("dropout", "stochastic_depth")
def drop(op: Dropout | StochasticDepth, run: Run, x: Array) -> Array:
    if not run.training:
        return x
    shape = op.masked(TensorType(x.shape)).shape
    kept = like(x, np.asarray(run.rng.random(shape))) >= op.p
    scale = 1 / (1 - op.p) if op.p < 1 else 0.0
    mask = np.where(kept, x.dtype.type(scale), x.dtype.type(0))
    return x * like(x, mask)
