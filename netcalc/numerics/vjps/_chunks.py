"""Arrays of scans in chunks: (batch, chunks, heads, chunk, features) for (batch, length, heads, features)."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array


def unchunked(x: Array, length: int) -> Array:
    """Return (batch, chunks, heads, chunk, features) as (batch, length, heads, features), without the padding."""
    batch, _, heads, _, features = x.shape
    return x.swapaxes(2, 3).reshape(batch, -1, heads, features)[:, :length]


def of_groups(x: Array, groups: int) -> Array:
    """Return gradients of each head (batch, length, heads, features), summed over the heads of each group."""
    batch, length, heads, features = x.shape
    total: Array = np.add.reduce(x.reshape(batch, length, groups, heads // groups, features), axis=3)
    return total


def to_end(x: Array) -> Array:
    """Return the sums of the last axis from each place to the end: the gradient of sums up to each place."""
    sums: Array = np.add.accumulate(x[..., ::-1], axis=-1)
    return sums[..., ::-1]


def turned(x: Array) -> Array:
    """Return the transposed matrices."""
    return x.swapaxes(-1, -2)
