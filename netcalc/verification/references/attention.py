"""Reference of :mod:`netcalc.ops.attention`: a query at a time, after torch's scaled_dot_product_attention.

Each pair of a query and a key is tested against the masks and patterns by their definitions.
"""

from __future__ import annotations

import math
import random
from typing import Any, NamedTuple

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._places import place_in
from netcalc.verification.references._sums import double, total


class _Shares(NamedTuple):
    """Share of each key in the result of a query, and the largest magnitude of the terms of a score."""

    each: Array
    magnitude: float


@reference("scaled_dot_product_attention")
def attention(
    op: Attributes,
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None = None,
    key_padding_mask: Array | None = None,
    sinks: Array | None = None,
) -> Expected | tuple[Expected, ...]:
    queries, keys = query.shape[-2], key.shape[-2]
    heads = query.shape[-3:-2] if op.enable_gqa else ()
    # with grouped heads, a head of keys or values counts for each head of queries that it serves
    key_lead, value_lead = ((*x.shape[: x.ndim - 2 - len(heads)], *heads) for x in (key, value))
    lead = np.broadcast_shapes(query.shape[:-2], key_lead)
    results = np.broadcast_shapes(lead, value_lead)
    blocks = None if op.blocks is None else _blocks(op, queries // op.blocks.size, keys // op.blocks.size)

    def shares(place: Shape, row: int) -> _Shares:
        vector = double(query[(*place_in(query.shape[:-2], place), row)])
        products = _head_of(key, key_lead, place) * vector
        factor = 1 / math.sqrt(query.shape[-1]) if op.scale is None else op.scale
        scores = products.sum(axis=1) * factor
        magnitude = float(np.abs(products).sum(axis=1).max()) * abs(factor)
        if op.softcap is not None:
            scores = op.softcap * np.tanh(scores / op.softcap)
        if attn_mask is not None:
            masked = [attn_mask[place_in(attn_mask.shape, (*place, row, column))] for column in range(keys)]
            scores = scores + [_added_to_score(mask) for mask in masked]
        padding = [False] * keys
        if key_padding_mask is not None:
            padding = [bool(key_padding_mask[place_in(key_padding_mask.shape, (*place[:-1], n))]) for n in range(keys)]
        seen = [not padding[n] and _is_seen(op, row, n, queries, keys, blocks) for n in range(keys)]
        scores = np.where(seen, scores, -math.inf)
        every = scores if sinks is None else np.append(scores, float(sinks[place[-1]]))
        sum_of_all = float(np.logaddexp.reduce(every))
        each = np.zeros(keys) if sum_of_all == -math.inf else np.exp(scores - sum_of_all)
        return _Shares(each, magnitude)

    def output(index: Shape) -> Value:
        *before, row, feature = index
        own = shares(place_in(lead, before), row)
        values = _head_of(value, value_lead, tuple(before))[:, feature]
        if op.sparse:  # what is skipped does not matter, even if infinite
            values = np.where(own.each == 0, 0, values)
        summed = total(own.each, values)
        return Value(summed.value, summed.magnitude * (1 + own.magnitude))

    def weight(index: Shape) -> Value:
        *before, row, column = index
        own = shares(tuple(before), row)
        return Value(float(own.each[column]), float(own.each[column]) * (1 + own.magnitude))

    random_shares = op.training and op.dropout > 0
    reads = keys * (2 * query.shape[-1] + 1)
    y = Expected((*results, queries, value.shape[-1]), query.dtype.name, None if random_shares else output, reads)
    if not op.return_weights:
        return y
    return y, Expected((*lead, queries, keys), query.dtype.name, None if random_shares else weight, reads)


def _head_of(x: Array, lead: Shape, place: Shape) -> Array:
    """Return the keys or values that a head of queries sees, where ``lead`` has the heads that each serves as one."""
    own = place_in(lead, place)
    if lead != x.shape[:-2]:
        own = (*own[:-1], own[-1] // (lead[-1] // x.shape[-3]))
    return double(x[own])


def _added_to_score(mask: Any) -> float:
    """Return what an element of a mask adds to a score."""
    if mask.dtype == bool:
        return 0.0 if mask else -math.inf
    return float(mask)


def _is_seen(
    op: Attributes, row: int, column: int, queries: int, keys: int, blocks: set[tuple[int, int]] | None
) -> bool:
    """Return True if the fixed pattern lets a query attend to a key."""
    place = row + (keys - queries if op.alignment == "lower_right" else 0)
    if op.causal and column > place:
        return False
    if blocks is not None and (row // op.blocks.size, column // op.blocks.size) not in blocks:
        return False
    if op.window is None:
        return True
    left, right = op.window
    near = (left is None or place - column <= left) and (right is None or column - place <= right)
    return near or (op.global_tokens > 0 and min(place, column) < op.global_tokens)


def _blocks(op: Attributes, rows: int, columns: int) -> set[tuple[int, int]]:
    """Return the pairs of blocks that are kept; the random ones are drawn row by row, as the operation documents."""
    blocks: Any = op.blocks
    if blocks.pairs:
        return {tuple(pair) for pair in blocks.pairs}
    shift = columns - rows if op.alignment == "lower_right" else 0
    first, last = blocks.global_blocks
    draw = random.Random(blocks.seed)
    seen: set[tuple[int, int]] = set()
    for row in range(rows):
        apart = [column for column in range(columns) if first <= column < columns - last]
        if row < first or row >= rows - last:
            seen |= {(row, column) for column in range(columns)}
            continue
        seen |= {(row, column) for column in range(columns) if column not in apart}
        if blocks.band is not None:
            left, right = blocks.band
            seen |= {(row, column) for column in apart if row + shift - left <= column <= row + shift + right}
        seen |= {(row, column) for column in draw.sample([c for c in apart if (row, c) not in seen], blocks.random)}
    return seen
