"""Products of :mod:`netcalc.ops.position_bias`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like, wide
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.position_bias import RelativePositionBias, RelativePositionLookup, T5PositionBias


def _table(gradient: Array, indices: Array, rows: int) -> Array:
    """Return the gradients (heads, pairs) of each row of a table, summed: (rows, heads)."""
    g = wide(gradient)
    total = like(g, np.zeros((rows, len(g)), g.dtype))
    np.add.at(total, np.asarray(indices).reshape(-1), g.reshape(len(g), -1).T)
    return total


@vjp("relative_position_bias")
def relative_position_bias(op: RelativePositionBias, back: Back, gradient: Array) -> Gradients:
    rows = op.rows
    assert isinstance(rows, int)
    return {"relative_position_bias_table": _table(gradient, back.saved["indices"], rows)}


@vjp("relative_position_lookup")
def relative_position_lookup(op: RelativePositionLookup, back: Back, gradient: Array) -> Gradients:
    return {0: _table(gradient, back.saved["indices"], back.shape()[0])}


@vjp("t5_position_bias")
def t5_position_bias(op: T5PositionBias, back: Back, gradient: Array) -> Gradients:
    gradients: Gradients = {source: np.zeros(back.shape(int(source))) for source in back.among(0, 1)}
    if back.wants("weight"):
        gradients["weight"] = _table(gradient[0], back.saved["indices"], op.num_buckets)
    return gradients
