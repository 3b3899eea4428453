"""Attention block by block: of the scores only some queries' rows are ever held, of as many heads as fit the cache."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from netcalc.engine.graph import Node, Tensor
from netcalc.engine.lower.context import Lowering, lowering, wide_dtype
from netcalc.engine.lower.conv.geometry import shaped
from netcalc.engine.lower.epilogue import Pass, sequence
from netcalc.engine.step import Job, Scratch, Step, cuts
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning
from netcalc.numerics.kernels import Array
from netcalc.numerics.kernels.attention import within_sight
from netcalc.ops.attention import ScaledDotProductAttention

__all__ = ["Block"]


class Block(NamedTuple):
    """Queries ``top`` to ``bottom`` and the keys ``left`` to ``right``, which are all that any of them sees."""

    top: int
    bottom: int
    left: int
    right: int


class _Operands(NamedTuple):
    """Queries, keys and values of every head, with how many in a row share one; what goes to the scores; the result.

    All have the same leading axes, at least one.
    """

    heads: list[tuple[Slot, int]]
    mask: Slot | None
    hidden: Slot | None
    sinks: Slot | None
    out: Slot

    def slots(self) -> list[Slot]:
        """Those that are read."""
        others = (self.mask, self.hidden, self.sinks)
        return [slot for slot, _ in self.heads] + [slot for slot in others if slot is not None]


def _operands(low: Lowering, node: Node) -> _Operands | None:
    """None where there are values for more heads than have scores."""
    op: ScaledDotProductAttention = node.op
    query, key, value, attn_mask, padding, sinks = [*node.inputs, None, None, None][:6]
    assert query is not None and key is not None and value is not None
    result = node.outputs[0]
    lead, queries, keys = result.shape[:-2], result.shape[-2], key.shape[-2]
    if _joined(op, query, key) != lead:
        return None
    heads = [
        _headed(low.wide(node, low.slot(t)), lead, t.shape[-3] if op.enable_gqa and t is not query else None)
        for t in (query, key, value)
    ]
    mask = None if attn_mask is None else low.wide(node, low.slot(attn_mask)).expanded((*lead, queries, keys))
    hidden = _hidden_keys(low, node, padding, (*lead, queries, keys))
    sunk = None if sinks is None else low.wide(node, low.slot(sinks)).expanded(lead)
    order: Sequence[int] = range(len(result.shape))
    if len(query.shape) == len(result.shape) and low.slot(query).order[-1] == len(lead) + 1:
        order = low.slot(query).order
    out = low.new(result, order)
    if not lead:  # a single head
        heads, out = [(slot.inserted(0), 1) for slot, _ in heads], out.inserted(0)
        mask, hidden = (None if slot is None else slot.inserted(0) for slot in (mask, hidden))
    return _Operands(heads, mask, hidden, sunk, out)


@lowering("scaled_dot_product_attention")
def attention(low: Lowering, node: Node) -> bool:
    """Softmax(Q·Kᵀ)·V for blocks of queries, the division last, on as few columns as there are."""
    op: ScaledDotProductAttention = node.op
    if op.return_weights or op.blocks is not None or any(0 in t.shape for t in node.inputs[:3] if t is not None):
        return False
    operands = _operands(low, node)
    if operands is None:
        return False
    heads, mask, hidden, sunk, out = operands
    *lead, queries, depth = out.shape
    (query, _), (key, _), _ = heads
    keys, work = key.shape[-2], query.dtype
    blocks = _blocks(op, queries, keys, low.tuning)
    most = max((block.bottom - block.top) * (block.right - block.left) for block in blocks)
    threads = low.parallelism.pass_jobs(math.prod(lead) * queries * keys)
    others = math.prod(lead[:-1]) * len(blocks)  # jobs for each group of heads
    together = min(low.tuning.attention_scores // max(most, 1), lead[-1] // -(-threads // others))
    groups = _groups(lead[-1], [shared for _, shared in heads], together)
    jobs = [(index, group, block) for index in np.ndindex(*lead[:-1]) for group in groups for block in blocks]
    together = max(end - start for start, end in groups)
    height = together * max(block.bottom - block.top for block in blocks)
    scratch: list[Scratch] = [
        ((together * most,), work),
        ((height * query.shape[-1],), work),
        ((height * depth,), work),
        ((2 * height,), work),
        ((together * most if mask is not None and mask.dtype == np.bool_ else 0,), np.dtype(np.bool_)),
    ]
    patterns: dict[bytes, Array] = {}

    def bind(number: int, arrays: Sequence[Array]) -> Job:
        index, (first, end), block = jobs[number]
        rows, columns = slice(block.top, block.bottom), slice(block.left, block.right)
        goal = out.array()[index][first:end, rows]
        if block.left >= block.right:
            return partial(goal.fill, 0)
        q, k, v = (_of_heads(slot.array()[index], shared, first, end) for slot, shared in heads)
        q, k, v = q[..., rows, :], k[..., columns, :], v[..., columns, :]
        y = goal if goal.dtype == work else shaped(arrays[2], goal.shape)
        scores = shaped(arrays[0], (end - first, block.bottom - block.top, block.right - block.left))
        passes: list[Pass] = list(_scored(op, q, k, shaped(arrays[1], q.shape), scores))
        if mask is not None:
            passes += _mask(scores, mask.array()[index][first:end, rows, columns], arrays[4])
        if hidden is not None:
            passes.append(partial(np.add, scores, hidden.array()[index][first:end, :, columns], scores))
        passes += _pattern(op, block, keys - queries, scores, patterns)
        sums = shaped(arrays[3], (2, *scores.shape[:2], 1))
        passes += _softmax(scores, sums, None if sunk is None else sunk.array()[index][first:end, None, None])
        passes.append(partial(np.matmul, scores, v, y))
        passes.append(partial(np.divide, y, sums[1], y))
        if y is not goal:
            passes.append(partial(np.copyto, goal, y, casting="unsafe"))
        return sequence(passes)

    low.emit(Step(node, operands.slots(), (out,), len(jobs), bind, scratch))
    return True


def _groups(heads: int, shared: Sequence[int], most: int) -> list[tuple[int, int]]:
    """(first, end) of heads that are done together: at most so many, and of those that share keys one set at a time."""
    sets = math.gcd(*(count for count in shared if count > 1)) or heads
    size = max(1, min(most, sets))
    while sets % size:
        size -= 1
    return [(first, first + size) for first in range(0, heads, size)]


def _joined(op: ScaledDotProductAttention, query: Tensor, key: Tensor) -> tuple[int, ...]:
    """The leading axes of the scores."""
    shape = key.shape[:-2]
    if op.enable_gqa:
        shape = (*shape[:-1], query.shape[-3])
    return np.broadcast_shapes(query.shape[:-2], shape)


def _headed(slot: Slot, lead: tuple[int, ...], heads: int | None) -> tuple[Slot, int]:
    """Queries, keys or values for every head of the result, and how many heads in a row share one."""
    length, depth = slot.shape[-2:]
    if heads is None or heads == lead[-1]:
        return slot.expanded((*lead, length, depth)), 1
    return slot.expanded((*lead[:-1], heads, length, depth)), lead[-1] // heads


def _of_heads(heads: Array, shared: int, first: int, end: int) -> Array:
    """The arrays of some heads, or the one that they share."""
    return heads[first:end] if shared == 1 else heads[first // shared]


def _hidden_keys(low: Lowering, node: Node, padding: Tensor | None, shape: tuple[int, ...]) -> Slot | None:
    """Zero for a key and −∞ for padding, as a row to add to the scores of a batch."""
    if padding is None:
        return None
    source = low.slot(padding)
    if len(shape) > 2:  # (…, batch, keys) to (…, batch, heads, queries, keys)
        spread = source.reshaped((*source.shape[:-1], 1, 1, source.shape[-1]))
    else:
        spread = source.reshaped((1, source.shape[-1]) if len(source.shape) == 1 else source.shape)
    target = low.room(padding.shape, wide_dtype(node.outputs[0].dtype))

    def bind(number: int, arrays: Sequence[Array]) -> Job:
        goal, given = target.array(), source.array()
        return sequence([partial(goal.fill, 0), partial(np.copyto, goal, -np.inf, where=given)])

    low.emit(Step(node, (source,), (target,), 1, bind, what="mask"))
    wide = target.reshaped(spread.shape) if spread is not None else None
    assert wide is not None
    return wide.expanded((*shape[:-2], 1, shape[-1]))


def _blocks(op: ScaledDotProductAttention, queries: int, keys: int, tuning: Tuning) -> list[Block]:
    """The queries in blocks, each with the range of keys that a window and the order leave it."""
    height = max(tuning.attention_queries, tuning.attention_scores // keys)
    offset = keys - queries if op.alignment == "lower_right" else 0
    blocks = []
    for top, bottom in cuts(queries, -(-queries // height)):
        left, right = 0, keys
        if op.causal:
            right = min(right, bottom + offset)
        if op.window is not None and not op.global_tokens:
            before, after = op.window
            left = left if before is None else max(left, top + offset - before)
            right = right if after is None else min(right, bottom + offset + after)
        blocks.append(Block(top, bottom, left, max(right, left)))
    return blocks


def _scored(op: ScaledDotProductAttention, q: Array, k: Array, scaled: Array, scores: Array) -> Iterator[Pass]:
    """The scores, the queries being scaled beforehand, which are fewer."""
    scale = 1 / math.sqrt(q.shape[-1]) if op.scale is None else op.scale
    yield partial(np.multiply, q, q.dtype.type(scale), scaled)
    yield partial(np.matmul, scaled, k.swapaxes(-1, -2), scores)
    if op.softcap is not None:
        yield partial(np.multiply, scores, q.dtype.type(1 / op.softcap), scores)
        yield partial(np.tanh, scores, scores)
        yield partial(np.multiply, scores, q.dtype.type(op.softcap), scores)


def _mask(scores: Array, mask: Array, scratch: Array) -> Iterator[Pass]:
    if mask.dtype == np.bool_:
        hidden = shaped(scratch, scores.shape)
        yield partial(np.logical_not, mask, hidden)
        yield partial(np.copyto, scores, -np.inf, where=hidden)
    else:
        yield partial(np.add, scores, mask, scores)


def _pattern(
    op: ScaledDotProductAttention, block: Block, offset: int, scores: Array, known: dict[bytes, Array]
) -> Iterator[Pass]:
    """Hides what the order and the window hide of the block, by adding −∞ to the columns where that is anything."""
    if not op.causal and op.window is None:
        return
    place = np.arange(block.top, block.bottom)[:, None] + (offset if op.alignment == "lower_right" else 0)
    visible = within_sight(op, place, np.arange(block.left, block.right))
    (partly,) = np.nonzero(~visible.all(axis=0))
    if not partly.size:
        return
    span = slice(partly[0], partly[-1] + 1)
    shown = visible[:, span]
    key = shown.tobytes() + bytes(str(shown.shape), "ascii")
    if key not in known:
        known[key] = np.where(shown, scores.dtype.type(0), scores.dtype.type(-np.inf))
    yield partial(np.add, scores[..., span], known[key], scores[..., span])


def _softmax(scores: Array, sums: Array, sink: Array | None) -> Iterator[Pass]:
    """The exponentials in place, and in ``sums[1]`` what they are to be divided by; 0 over anything is 0."""
    top, total = sums
    number = scores.dtype.type
    rows = scores.reshape(-1, scores.shape[-1])
    ones = np.ones((scores.shape[-1], 1), scores.dtype)
    yield partial(np.maximum.reduce, rows, 1, None, top.reshape(-1, 1), True)
    if sink is not None:
        yield partial(np.maximum, top, sink, out=top)
    yield partial(np.maximum, top, np.finfo(scores.dtype).min, out=top)  # where all is hidden
    yield partial(np.subtract, scores, top, scores)
    yield partial(np.exp, scores, scores)
    yield partial(np.matmul, rows, ones, total.reshape(-1, 1))
    if sink is not None:
        yield partial(np.subtract, sink, top, top)
        yield partial(np.exp, top, top)
        yield partial(np.add, total, top, total)
    yield partial(np.maximum, total, np.finfo(number).tiny, out=total)
