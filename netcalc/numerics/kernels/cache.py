"""Kernels of :mod:`netcalc.ops.cache`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, like
from netcalc.ops.cache import KeyValueCache


@kernel("key_value_cache")
def key_value_cache(
    op: KeyValueCache,
    run: Run,
    key: Array,
    value: Array,
    past_key: Array | None = None,
    past_value: Array | None = None,
) -> tuple[Array, Array]:
    def extended(past: Array | None, new: Array) -> Array:
        every_position = new if past is None else like(new, np.concatenate([past, new], axis=-2))
        if op.window is None:
            return every_position
        return every_position[..., -(op.window - 1 + new.shape[-2]) :, :]

    return extended(past_key, key), extended(past_value, value)
