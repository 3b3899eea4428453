"""Kernels of :mod:`netcalc.ops.mask`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array, numpy_dtype
from netcalc.numerics.kernels import Run, kernel, like
from netcalc.ops.mask import CausalMask, Tril, Triu


def diagonal_of(op: Tril | Triu, x: Array) -> int:
    """Return the diagonal of the triangle, or the one beside the tensor if it lies farther away."""
    return int(max(-x.shape[-2], min(op.diagonal, x.shape[-1])))


@kernel("tril")
def tril(op: Tril, run: Run, x: Array) -> Array:
    return like(x, np.tril(np.asarray(x), diagonal_of(op, x)))


@kernel("triu")
def triu(op: Triu, run: Run, x: Array) -> Array:
    return like(x, np.triu(np.asarray(x), diagonal_of(op, x)))


@kernel("causal_mask")
def causal_mask(op: CausalMask, run: Run) -> Array:
    keys = op.queries if op.keys is None else op.keys
    shift = keys - op.queries if op.alignment == "lower_right" else 0
    ahead = np.arange(keys) - np.arange(op.queries)[:, None] - shift
    visible = ahead <= 0
    if op.window is not None:
        visible &= ahead >= -op.window
    return visible if op.dtype == "bool" else np.where(visible, 0, -np.inf).astype(numpy_dtype(op.dtype))
