"""Kernels of :mod:`netcalc.ops.position_bias`."""

from __future__ import annotations

import math

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, initial_table, kernel, like
from netcalc.ops.position_bias import (
    AlibiBias,
    RelativeCoordinates,
    RelativePositionBias,
    RelativePositionLookup,
    T5PositionBias,
)


@initial_table("relative_position_bias", "relative_position_lookup")
def relative_position_index(
    op: RelativePositionBias | RelativePositionLookup, name: str, shape: tuple[int, ...]
) -> Array:
    """Return the row of the table for each pair of positions, flattened."""
    sides = np.array(op.window_size)
    places = np.indices(op.window_size).reshape(len(sides), -1)
    offsets = places[:, :, None] - places[:, None, :] + (sides - 1)[:, None, None]
    index: Array = np.ravel_multi_index(tuple(offsets), tuple(2 * sides - 1))
    if op.class_token:
        rows = math.prod(2 * side - 1 for side in op.window_size)
        index = np.pad(index, ((1, 0), (1, 0)))
        index[0, :], index[:, 0], index[0, 0] = rows, rows + 1, rows + 2
    return index.reshape(-1)


@kernel("relative_position_bias")
def relative_position_bias(
    op: RelativePositionBias, run: Run, *, relative_position_bias_table: Array, relative_position_index: Array
) -> Array:
    return _looked_up(relative_position_bias_table, relative_position_index)


@kernel("relative_position_lookup")
def relative_position_lookup(
    op: RelativePositionLookup, run: Run, table: Array, *, relative_position_index: Array
) -> Array:
    return _looked_up(table, relative_position_index)


def _looked_up(table: Array, index: Array) -> Array:
    """Return the row of each pair of positions, heads first."""
    places = math.isqrt(index.size)
    rows: Array = table[np.asarray(index)]
    return rows.reshape(places, places, -1).transpose(2, 0, 1)


@initial_table("relative_coordinates")
def relative_coords_table(op: RelativeCoordinates, name: str, shape: tuple[int, ...]) -> Array:
    """Compute the table in float32, as the reference implementation does."""
    scales = op.window_size if op.pretrained_window_size is None else op.pretrained_window_size
    steps = [
        np.arange(1 - side, side, dtype=np.float32) / np.float32(max(scale - 1, 1))
        for side, scale in zip(op.window_size, scales, strict=True)
    ]
    offsets = np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1)[None] * np.float32(8)
    table: Array = np.sign(offsets) * np.log2(np.abs(offsets) + np.float32(1)) / np.float32(3)
    return table


@kernel("relative_coordinates")
def relative_coordinates(op: RelativeCoordinates, run: Run, *, relative_coords_table: Array) -> Array:
    return relative_coords_table


@kernel("t5_position_bias")
def t5_position_bias(op: T5PositionBias, run: Run, query: Array, key: Array | None = None, *, weight: Array) -> Array:
    indices = buckets_of(op, -_distances(op, query, key))
    run.keep(indices=indices)
    rows: Array = weight[indices]
    return rows.transpose(2, 0, 1)[None].astype(query.dtype, copy=False)


@kernel("alibi_bias")
def alibi_bias(op: AlibiBias, run: Run, query: Array, key: Array | None = None) -> Array:
    slopes = np.array(slopes_of(op.num_heads, op.max_bias))[:, None, None]
    distances = _distances(op, query, key)
    bias = -slopes * np.abs(distances) if op.per_query else slopes * np.arange(distances.shape[1])
    return like(query, bias.astype(query.dtype))


def _distances(op: T5PositionBias | AlibiBias, query: Array, key: Array | None) -> Array:
    """Return the distance from each key to each later query, as (queries, keys)."""
    queries = query.shape[-2]
    keys = op.offset + queries if key is None else key.shape[-2]
    first = keys - queries if op.alignment == "lower_right" else op.offset
    return np.arange(first, first + queries)[:, None] - np.arange(keys)


def buckets_of(op: T5PositionBias, offsets: Array) -> Array:
    """Return the bucket of each offset of a key from its query."""
    buckets = op.num_buckets // 2 if op.bidirectional else op.num_buckets
    exact = buckets // 2  # the other half is logarithmic
    later = np.where(offsets > 0, buckets, 0) if op.bidirectional else 0
    distance = np.abs(offsets) if op.bidirectional else np.maximum(-offsets, 0)
    # in float32, so that distances at the edge of a bucket are rounded as in the reference implementation
    ratio = np.maximum(distance, exact).astype(np.float32) / np.float32(exact)
    steps = np.log(ratio) / np.float32(math.log(op.max_distance / exact)) * np.float32(buckets - exact)
    far = np.minimum(exact + steps.astype(np.int64), buckets - 1)
    return np.where(distance < exact, distance, far) + later


def slopes_of(heads: int, max_bias: float) -> list[float]:
    power = 2 ** int(math.log2(heads))
    slopes = [2 ** (-max_bias * (h + 1) / power) for h in range(power)]
    return slopes + [2 ** (-max_bias * (2 * h + 1) / (2 * power)) for h in range(heads - power)]
