"""Kernels of :mod:`netcalc.ops.attention`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, like, wide
from netcalc.ops.attention import ScaledDotProductAttention

#: What may be kept for the backward pass: the softmax, the mask of dropout, the weights after it, and tanh of softcap.
_KEPT = ("result", "result1", "self", "tanh_result")


@kernel("scaled_dot_product_attention")
def scaled_dot_product_attention(
    op: ScaledDotProductAttention,
    run: Run,
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None = None,
    key_padding_mask: Array | None = None,
    sinks: Array | None = None,
) -> Array | tuple[Array, ...]:
    dtype = query.dtype
    query, key, value = wide(query), wide(key), wide(value)
    if op.enable_gqa:
        key, value = (x.repeat(query.shape[-3] // x.shape[-3], axis=-3) for x in (key, value))
    queries, keys = query.shape[-2], key.shape[-2]
    visible = visible_pairs(op, queries, keys)
    if attn_mask is not None:
        attn_mask = np.atleast_2d(attn_mask)
    hidden = [] if key_padding_mask is None else [key_padding_mask[..., None, None, :]]
    if key_padding_mask is not None and max(query.ndim, key.ndim) == 2:
        hidden = [key_padding_mask[None]]
    leading = np.broadcast_shapes(query.shape[:-2], key.shape[:-2])
    result = np.broadcast_shapes(leading, value.shape[:-2])
    output = like(query, np.zeros((*result, queries, value.shape[-1]), dtype))
    weights = like(query, np.zeros((*leading, queries, keys), dtype)) if op.return_weights else None

    saved: dict[str, list[Array]] = {}
    # queries that see the same keys form a dense rectangle; without skipping there is one
    for rows, columns in rectangles(computed_pairs(op, queries, keys)):
        scores = np.matmul(query[..., rows, :], key[..., columns, :].swapaxes(-1, -2))
        if op.scale != 1:
            scores *= 1 / math.sqrt(query.shape[-1]) if op.scale is None else op.scale
        if op.softcap is not None:
            scores = np.tanh(scores / op.softcap)
            _keep(run, saved, tanh_result=scores)
            scores = scores * op.softcap
        if attn_mask is not None and attn_mask.dtype != bool:
            scores = scores + wide(_part_of_mask(attn_mask, rows, columns))
        elif attn_mask is not None:
            scores = like(scores, np.where(_part_of_mask(attn_mask, rows, columns), scores, -np.inf))
        for mask in hidden:
            scores = like(scores, np.where(_part_of_mask(mask, rows, columns), -np.inf, scores))
        if visible is not None:
            scores = like(scores, np.where(_part_of_mask(visible, rows, columns), scores, -np.inf))
        share, powers, total = _softmax(scores, sinks)
        if run.kept is not None:  # with a sink, its weight too, which is not computed otherwise
            _keep(run, saved, result=share if sinks is None else np.asarray(powers) / np.asarray(total))
        del powers, total  # as large as the scores
        if run.training and op.dropout:
            passes = like(share, run.rng.random(share.shape)) >= op.dropout
            factor = 1 / (1 - op.dropout) if op.dropout < 1 else 0.0
            share = share * like(share, np.where(passes, share.dtype.type(factor), share.dtype.type(0)))
            _keep(run, saved, result1=passes, self=share)
        output[..., rows, :] = np.matmul(share, value[..., columns, :])
        if weights is not None:
            weights[grid(rows, columns)] = share
    if run.kept is not None:
        names = saved or {name: [] for name in _KEPT}  # without a rectangle
        run.keep(**{name: _joined_scores(op, name, parts, leading, dtype) for name, parts in names.items()})
    return output if weights is None else (output, weights)


def _keep(run: Run, kept: dict[str, list[Array]], **parts: Array) -> None:
    """Collect what one rectangle keeps for the backward pass, if there is one."""
    if run.kept is not None:
        for name, part in parts.items():
            kept.setdefault(name, []).append(np.asarray(part))


def _joined_scores(
    op: ScaledDotProductAttention, name: str, parts: Sequence[Array], leading: tuple[int, ...], dtype: Any
) -> Array:
    """Return the scores of all rectangles: a matrix, or if pairs are skipped a row of those that are computed."""
    if op.sparse:
        rows = (part.reshape(*leading, math.prod(part.shape[-2:])) for part in parts)
        parts = [np.zeros((*leading, 0), parts[0].dtype if parts else dtype), *rows]
    joined: Array = np.concatenate(parts, axis=-1)
    return joined.astype(bool if name == "result1" else dtype, copy=False)


def _softmax(scores: Array, sinks: Array | None) -> tuple[Array, Array, Array]:
    """Return the softmax over the last axis, and the powers and their sum, of which it is the quotient.

    It is zero if all keys are hidden, and without the weight of a sink.
    """
    if sinks is not None:
        column = np.broadcast_to(sinks[:, None, None], (*scores.shape[:-1], 1))
        scores = like(scores, np.concatenate([scores, column.astype(scores.dtype)], axis=-1))
    top = np.maximum.reduce(scores, axis=-1, keepdims=True)
    top = like(scores, np.where(np.isinf(top), scores.dtype.type(0), top))
    powers = np.exp(scores - top)
    total = np.add.reduce(powers, axis=-1, keepdims=True)
    total = like(scores, np.where(total, total, scores.dtype.type(1)))
    quotient: Array = (powers if sinks is None else powers[..., :-1]) / total
    return quotient, powers, total


def visible_pairs(op: ScaledDotProductAttention, queries: int, keys: int) -> Array | None:
    """Return the mask (queries, keys) of the pairs that the fixed pattern keeps; None if it keeps all."""
    if not op.causal and op.window is None and op.blocks is None:
        return None
    place = np.arange(queries)[:, None] + (keys - queries if op.alignment == "lower_right" else 0)
    visible = within_sight(op, place, np.arange(keys))
    return visible if op.blocks is None else visible & _block_mask(op, queries, keys)


def within_sight(op: ScaledDotProductAttention, place: Array, column: Array) -> Array:
    """Return the mask of the keys (a row) that causality and window keep for queries at ``place`` (a column)."""
    visible = np.ones(np.broadcast_shapes(place.shape, column.shape), bool)
    if op.window is not None:
        left, right = op.window
        if left is not None:
            visible &= column >= place - left
        if right is not None:
            visible &= column <= place + right
        if op.global_tokens:  # without global tokens, a query before the first key is not global either
            visible |= (place < op.global_tokens) | (column < op.global_tokens)
    if op.causal:
        visible &= column <= place
    return visible


def _block_mask(op: ScaledDotProductAttention, queries: int, keys: int) -> Array:
    assert op.blocks is not None
    size = op.blocks.size
    mask = np.zeros((queries // size, keys // size), bool)
    for pair in op.blocks.chosen(*mask.shape, lower_right=op.alignment == "lower_right"):
        mask[pair] = True
    return mask.repeat(size, axis=0).repeat(size, axis=1)


def computed_pairs(op: ScaledDotProductAttention, queries: int, keys: int) -> Array | None:
    """Return the mask (queries, keys) of the pairs that are computed; None if none are skipped."""
    if not op.sparse:
        return None
    return visible_pairs(op, queries, keys) if op.blocks is None else _block_mask(op, queries, keys)


def rectangles(computed: Array | None) -> list[tuple[Any, Any]]:
    """Return the (rows, columns) of each dense product that is computed."""
    if computed is None:
        return [(slice(None), slice(None))]
    alike: dict[bytes, list[int]] = {}
    for index, row in enumerate(computed):
        alike.setdefault(row.tobytes(), []).append(index)
    groups = ((rows, np.flatnonzero(computed[rows[0]])) for rows in alike.values())
    return [(np.array(rows), columns) for rows, columns in groups if columns.size]


def _part_of_mask(mask: Array, rows: Any, columns: Any) -> Array:
    """Return rows and columns of a mask, either of which may broadcast."""
    if mask.shape[-2] > 1:
        mask = mask[..., rows, :]
    return mask[..., columns] if mask.shape[-1] > 1 else mask


def grid(rows: Any, columns: Any) -> tuple[Any, ...]:
    """Return the index of a rectangle in (…, queries, keys)."""
    return (..., rows, columns) if isinstance(rows, slice) else (..., rows[:, None], columns)
