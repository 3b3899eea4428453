"""Kernels of :mod:`netcalc.ops.embed`."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.arrays import Array, numpy_dtype
from netcalc.diagnostics import RuleError
from netcalc.numerics.kernels import Run, kernel, like, wide
from netcalc.numerics.kernels.norm import norm
from netcalc.ops.embed import Embedding, EmbeddingBag, OneHot


@kernel("embedding")
def embedding(op: Embedding, run: Run, ids: Array, *, weight: Array) -> Array:
    rows = rows_of(op, ids, weight)
    return rows if op.scale is None else (wide(rows) * op.scale).astype(rows.dtype, copy=False)


@kernel("embedding_bag")
def embedding_bag(
    op: EmbeddingBag,
    run: Run,
    ids: Array,
    offsets: Array | None = None,
    per_sample_weights: Array | None = None,
    *,
    weight: Array,
) -> Array:
    rows = rows_of(op, ids, weight)
    dtype, rows = rows.dtype, wide(rows)
    if per_sample_weights is not None:
        rows = rows * wide(per_sample_weights)[..., None]
    least = -np.inf if op.mode == "max" else 0
    counted = None
    if op.padding_idx is not None:
        counted = ids != op.padding_idx % weight.shape[0]
        rows = like(rows, np.where(counted[..., None], rows, rows.dtype.type(least)))
    join = np.maximum if op.mode == "max" else np.add
    if offsets is None:
        pooled = join.reduce(rows, axis=1)
    else:
        bag, sizes = bags_of(op, np.asarray(offsets), ids.size)
        pooled = like(rows, np.full((len(sizes), rows.shape[1]), least, rows.dtype))
        join.at(pooled, bag, rows)
    if op.mode == "mean":
        if offsets is None:
            members: Any = ids.shape[1] if counted is None else np.add.reduce(counted, axis=1)
        elif counted is None:
            members = sizes
        else:
            members = like(rows, np.zeros(len(sizes), rows.dtype))
            np.add.at(members, bag, counted.astype(rows.dtype))
        divisor = np.where(members, members, 1).astype(rows.dtype)
        run.keep(result2=np.broadcast_to(np.asarray(members), len(pooled)).astype(np.int64))
        pooled = pooled / divisor.reshape(-1, 1)
    if op.mode == "max":
        if run.kept is not None:
            run.keep(result3=_largest(ids, rows, np.arange(len(ids)) if offsets is None else bag, pooled))
        pooled = like(rows, np.where(np.isinf(pooled), rows.dtype.type(0), pooled))
    bags: Array = pooled.astype(dtype, copy=False)
    return bags


def _largest(ids: Array, rows: Array, bag: Array, pooled: Array) -> Array:
    """Return the id of the first row that holds the largest element of each bag; −1 for an empty bag."""
    flat, values, most = np.asarray(ids).reshape(-1), np.asarray(rows).reshape(-1, rows.shape[-1]), np.asarray(pooled)
    bag = np.repeat(bag, flat.size // max(bag.size, 1))
    member = np.arange(flat.size)[:, None]
    first = np.full(most.shape, flat.size)
    np.minimum.at(first, bag, np.where((values == most[bag]) & ~np.isinf(values), member, flat.size))
    largest: Array = np.append(flat.astype(np.int64), -1)[first]
    return largest


@kernel("one_hot")
def one_hot(op: OneHot, run: Run, ids: Array) -> Array:
    places = checked(ids, op.num_classes, "num_classes")
    y = np.zeros((*ids.shape, op.num_classes), numpy_dtype(op.dtype))
    np.put_along_axis(y, places[..., None], 1, axis=-1)
    return like(ids, y)


def rows_of(op: Embedding | EmbeddingBag, ids: Array, weight: Array) -> Array:
    """Return the rows of the ids, scaled to a norm of at most ``max_norm``."""
    rows: Array = weight[checked(ids, op.num_embeddings, "num_embeddings")]
    if op.max_norm is None:
        return rows
    length = norm(wide(rows), op.norm_type, (-1,))
    smaller = wide(rows) * (op.max_norm / (length + 1e-7))
    return like(rows, np.where(length > op.max_norm, smaller, rows).astype(rows.dtype))


def checked(ids: Array, limit: int, what: str) -> Array:
    """Return the ids as a plain array; RuleError (E602) if an id is not a row of a table of ``limit`` rows."""
    plain = np.asarray(ids)
    if plain.size and not (plain.min() >= 0 and plain.max() < limit):
        wrong = plain.min() if plain.min() < 0 else plain.max()
        raise RuleError(f"id {wrong} is out of range: {what} is {limit}", code="E602")
    return plain


def bags_of(op: EmbeddingBag, offsets: Array, count: int) -> tuple[Array, Array]:
    """Return the bag of each id, and the number of ids of each bag."""
    edges = offsets if op.include_last_offset else np.append(offsets, count)
    if edges[0] != 0 or edges[-1] != count or np.any(np.diff(edges) < 0):
        end = f" to {count}" if op.include_last_offset else f" and stay within {count}"
        raise RuleError(f"offsets must start at 0 and not decrease{end}, and these are {offsets.tolist()}", code="E602")
    sizes = np.diff(edges)
    return np.repeat(np.arange(sizes.size), sizes), sizes
