"""Products of :mod:`netcalc.ops.cache`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.cache import KeyValueCache


@vjp("key_value_cache")
def key_value_cache(op: KeyValueCache, back: Back, *gradients: Array | None) -> Gradients:
    results: Gradients = {}
    for index, g in enumerate(gradients):
        new, past = back.shape(index), index + 2
        if g is None:
            results |= {source: np.zeros(back.shape(int(source))) for source in back.among(index, past)}
            continue
        length = g.shape[-2] - new[-2]
        if back.wants(index):
            results[index] = g[..., length:, :]
        if back.wants(past):
            of_past = like(g, np.zeros(back.shape(past), g.dtype))
            of_past[..., of_past.shape[-2] - length :, :] = g[..., :length, :]
            results[past] = of_past
    return results
