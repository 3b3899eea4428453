"""Products of :mod:`netcalc.ops.cache`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.cache import KeyValueCache


@vjp("key_value_cache")
def key_value_cache(op: KeyValueCache, back: Back, *gradients: Array | None) -> Gradients:
    found: Gradients = {}
    for index, g in enumerate(gradients):
        new, past = back.shape(index), index + 2
        if g is None:
            found |= {source: np.zeros(back.shape(int(source))) for source in back.among(index, past)}
            continue
        kept = g.shape[-2] - new[-2]
        if back.wants(index):
            found[index] = g[..., kept:, :]
        if back.wants(past):
            whole = like(g, np.zeros(back.shape(past), g.dtype))
            whole[..., whole.shape[-2] - kept :, :] = g[..., :kept, :]
            found[past] = whole
    return found
