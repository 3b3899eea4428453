"""Scores of attention: the passes that compute, mask and normalize one block of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.lower.passes import Pass
from netcalc.engine.step import cuts
from netcalc.engine.tuning import Tuning
from netcalc.numerics.kernels.attention import within_sight
from netcalc.ops.attention import ScaledDotProductAttention


class Block(NamedTuple):
    """Queries ``top`` to ``bottom``, and the keys ``left`` to ``right`` that these queries can see."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def queries(self) -> slice:
        """Queries of the block."""
        return slice(self.top, self.bottom)

    @property
    def keys(self) -> slice:
        """Keys of the block."""
        return slice(self.left, self.right)

    @property
    def elements(self) -> int:
        """Scores of the block."""
        return (self.bottom - self.top) * (self.right - self.left)


def cut_blocks(op: ScaledDotProductAttention, queries: int, keys: int, tuning: Tuning) -> list[Block]:
    """Cut the queries into blocks, each with the range of keys that causality and the window leave it."""
    height = max(tuning.attention_least_queries, min(tuning.attention_queries, tuning.attention_scores // keys))
    offset = keys - queries if op.alignment == "lower_right" else 0
    blocks = []
    for top, bottom in cuts(queries, queries // height):
        left, right = 0, keys
        if op.causal:
            right = min(right, bottom + offset)
        if op.window is not None and not op.global_tokens:
            before, after = op.window
            left = left if before is None else max(left, top + offset - before)
            right = right if after is None else min(right, bottom + offset + after)
        blocks.append(Block(top, bottom, left, max(right, left)))
    return blocks


def scaled_scores(op: ScaledDotProductAttention, q: Array, k: Array, scaled: Array, scores: Array) -> Iterator[Pass]:
    """Yield passes that compute the scores.  The queries are scaled, which are fewer than the scores."""
    scale = 1 / math.sqrt(q.shape[-1]) if op.scale is None else op.scale
    yield partial(np.multiply, q, q.dtype.type(scale), scaled)
    yield partial(np.matmul, scaled, k.swapaxes(-1, -2), scores)
    if op.softcap is not None:
        yield partial(np.multiply, scores, q.dtype.type(1 / op.softcap), scores)
        yield partial(np.tanh, scores, scores)
        yield partial(np.multiply, scores, q.dtype.type(op.softcap), scores)


def hide_masked(scores: Array, mask: Array, hidden: Array) -> Iterator[Pass]:
    """Yield passes that apply a mask; ``hidden`` is a scratch array for the inverse of a boolean one."""
    if mask.dtype == np.bool_:
        yield partial(np.logical_not, mask, hidden)
        yield partial(np.copyto, scores, -np.inf, where=hidden)
    else:
        yield partial(np.add, scores, mask, scores)


def hide_unreachable(
    op: ScaledDotProductAttention, block: Block, offset: int, scores: Array, patterns: dict[bytes, Array]
) -> Iterator[Pass]:
    """Yield the pass that adds −∞ to the scores that causality and the window hide, on the columns that have any.

    ``patterns`` holds the arrays to add, which blocks share.
    """
    if not op.causal and op.window is None:
        return
    position = np.arange(block.top, block.bottom)[:, None] + (offset if op.alignment == "lower_right" else 0)
    visible = within_sight(op, position, np.arange(block.left, block.right))
    (columns,) = np.nonzero(~visible.all(axis=0))
    if not columns.size:
        return
    span = slice(columns[0], columns[-1] + 1)
    shown = visible[:, span]
    key = shown.tobytes() + bytes(str(shown.shape), "ascii")
    if key not in patterns:
        patterns[key] = np.where(shown, scores.dtype.type(0), scores.dtype.type(-np.inf))
    yield partial(np.add, scores[..., span], patterns[key], scores[..., span])


def pattern_bytes(op: ScaledDotProductAttention, blocks: Iterable[Block], itemsize: int) -> int:
    """Return the most bytes of the arrays that :func:`hide_unreachable` makes for these blocks."""
    if not op.causal and op.window is None:
        return 0
    sizes: dict[tuple[int, ...], int] = {}
    for block in blocks:
        rows, columns = block.bottom - block.top, block.right - block.left
        if op.window is None:  # only the last columns have scores that are hidden from some rows
            sizes[rows, block.right - block.top] = rows * min(rows, columns)
        else:
            sizes[rows, block.right - block.top, columns] = rows * columns
    return itemsize * sum(sizes.values())


def exponentials(scores: Array, sums: Array, sink: Array | None, ones: Array) -> Iterator[Pass]:
    """Yield passes that replace the scores by their exponentials and write the divisors of softmax to ``sums[1]``.

    Where all scores of a row are −∞, the exponentials are 0 and the divisor is positive.  ``ones`` has an element for
    each column of the scores.
    """
    largest, total = sums
    kind = scores.dtype.type
    rows = scores.reshape(-1, scores.shape[-1])
    yield partial(np.maximum.reduce, rows, 1, None, largest.reshape(-1, 1), True)
    if sink is not None:
        yield partial(np.maximum, largest, sink, out=largest)
    yield partial(np.maximum, largest, np.finfo(scores.dtype).min, out=largest)  # if all scores are −∞
    yield partial(np.subtract, scores, largest, scores)
    yield partial(np.exp, scores, scores)
    yield partial(np.matmul, rows, ones[:, None], total.reshape(-1, 1))
    if sink is not None:
        yield partial(np.subtract, sink, largest, largest)
        yield partial(np.exp, largest, largest)
        yield partial(np.add, total, largest, total)
    yield partial(np.maximum, total, np.finfo(kind).tiny, out=total)
