"""Attention block by block: the scores of some queries are held at a time, for as many heads as fit the cache."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from netcalc.engine.graph import GraphNode, Tensor
from netcalc.engine.lower.attention_scores import (
    Block,
    cut_blocks,
    exponentials,
    hide_masked,
    hide_unreachable,
    pattern_bytes,
    scaled_scores,
)
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.emission import compute_dtype
from netcalc.engine.lower.passes import Pass, sequence
from netcalc.engine.lower.registry import lowering
from netcalc.engine.lower.tiling import Index, emit_jobs, emit_tiles
from netcalc.engine.step import Buffers, BufferSpec, Job
from netcalc.engine.storage import Slot
from netcalc.numerics.kernels import Array
from netcalc.ops.attention import ScaledDotProductAttention


class _Heads(NamedTuple):
    """Queries, keys or values (lead…, heads, length, depth), each of which serves ``group`` heads of the result."""

    slot: Slot
    group: int

    def select(self, sample: tuple[int, ...], heads: slice) -> Array:
        """Return the arrays of a range of heads, or the single one that they share."""
        array: Array = self.slot.array()[sample]
        return array[heads] if self.group == 1 else array[heads.start // self.group]


class _Operands(NamedTuple):
    """Operands and the result, all with the same leading axes, at least one.

    ``hidden_keys`` and ``mask`` are added to the scores; a boolean ``mask`` is True where a key is visible.
    """

    query: _Heads
    key: _Heads
    value: _Heads
    mask: Slot | None
    hidden_keys: Slot | None
    sinks: Slot | None
    out: Slot

    def reads(self) -> list[Slot]:
        """Slots that the jobs read."""
        others = (self.mask, self.hidden_keys, self.sinks)
        return [self.query.slot, self.key.slot, self.value.slot, *(slot for slot in others if slot is not None)]


class _Tile(NamedTuple):
    """A range of heads of one sample, and a block of their scores."""

    sample: tuple[int, ...]
    heads: slice
    block: Block

    def place(self) -> Index:
        """Index of the tile in the result."""
        return (*self.sample, self.heads, self.block.queries)


@lowering("scaled_dot_product_attention")
def lower_attention(context: LoweringContext, node: GraphNode) -> bool:
    """Emit softmax(Q·Kᵀ)·V for blocks of queries; the division comes last, on the columns of the values."""
    op: ScaledDotProductAttention = node.op
    if op.return_weights or op.blocks is not None or any(0 in t.shape for t in node.inputs[:3] if t is not None):
        return False
    operands = _operands(context, node)
    if operands is None:
        return False
    query, out, mask = operands.query.slot, operands.out, operands.mask
    tiles = _cut(context, op, operands)
    heads = max(tile.heads.stop - tile.heads.start for tile in tiles)
    rows = heads * max(tile.block.bottom - tile.block.top for tile in tiles)
    scores = heads * max(tile.block.elements for tile in tiles)
    buffers: dict[str, int | BufferSpec] = {
        "scores": scores,
        "scaled queries": rows * query.shape[-1],
        "sums": 2 * rows,
    }
    if mask is not None and mask.dtype == np.bool_:
        buffers["hidden"] = (scores, mask.dtype)
    patterns: dict[bytes, Array] = {}
    context.patterns[node] = pattern_bytes(op, (tile.block for tile in tiles), query.dtype.itemsize)
    ones = context.constants.ones(operands.key.slot.shape[-2], query.dtype)
    emit_tiles(
        context,
        node,
        reads=[*operands.reads(), ones],
        out=out,
        tiles=tiles,
        index=_Tile.place,
        compute=lambda tile, result, buffers: _passes(op, operands, tile, result, buffers, patterns, ones),
        dtype=query.dtype,
        buffers=buffers,
    )
    return True


def _passes(
    op: ScaledDotProductAttention,
    operands: _Operands,
    tile: _Tile,
    result: Array,
    buffers: Buffers,
    patterns: dict[bytes, Array],
    ones: Slot,
) -> Iterator[Pass]:
    sample, heads, block = tile
    if block.left >= block.right:
        yield partial(result.fill, 0)
        return
    q = operands.query.select(sample, heads)[..., block.queries, :]
    k, v = (operand.select(sample, heads)[..., block.keys, :] for operand in (operands.key, operands.value))
    scores = buffers.view("scores", (heads.stop - heads.start, block.bottom - block.top, block.right - block.left))
    yield from scaled_scores(op, q, k, buffers.view("scaled queries", q.shape), scores)
    if operands.mask is not None:
        mask = operands.mask.array()[sample][heads, block.queries, block.keys]
        hidden = buffers.view("hidden", scores.shape) if mask.dtype == np.bool_ else scores
        yield from hide_masked(scores, mask, hidden)
    if operands.hidden_keys is not None:
        yield partial(np.add, scores, operands.hidden_keys.array()[sample][heads, :, block.keys], scores)
    queries, keys = operands.out.shape[-2], operands.key.slot.shape[-2]
    yield from hide_unreachable(op, block, keys - queries, scores, patterns)
    sums = buffers.view("sums", (2, *scores.shape[:2], 1))
    sinks = None if operands.sinks is None else operands.sinks.array()[sample][heads, None, None]
    yield from exponentials(scores, sums, sinks, ones.array()[: scores.shape[-1]])
    yield partial(np.matmul, scores, v, result)
    yield partial(np.divide, result, sums[1], result)


def _cut(context: LoweringContext, op: ScaledDotProductAttention, operands: _Operands) -> list[_Tile]:
    """Cut the result into tiles: for each sample, groups of heads that fit the cache, and blocks of queries."""
    *lead, queries, _ = operands.out.shape
    keys = operands.key.slot.shape[-2]
    blocks = cut_blocks(op, queries, keys, context.tuning)
    most = max(block.elements for block in blocks)
    jobs = context.parallelism.pass_jobs(math.prod(lead) * queries * keys)
    tiles_per_group = math.prod(lead[:-1]) * len(blocks)
    heads = min(context.tuning.attention_scores // max(most, 1), lead[-1] // -(-jobs // tiles_per_group))
    shared = [operand.group for operand in (operands.query, operands.key, operands.value)]
    groups = _head_groups(lead[-1], shared, heads)
    return [_Tile(sample, group, block) for sample in np.ndindex(*lead[:-1]) for group in groups for block in blocks]


def _head_groups(heads: int, shared: Sequence[int], most: int) -> list[slice]:
    """Cut the heads into groups of at most ``most``; a group uses one set of shared keys and values."""
    sets = math.gcd(*(count for count in shared if count > 1)) or heads
    size = max(1, min(most, sets))
    while sets % size:
        size -= 1
    return [slice(first, first + size) for first in range(0, heads, size)]


def _operands(context: LoweringContext, node: GraphNode) -> _Operands | None:
    """Return the operands; None if there are values for more heads than have scores."""
    op: ScaledDotProductAttention = node.op
    layout, emit = context.layout, context.emit
    query, key, value, attn_mask, padding, sinks = [*node.inputs, None, None, None][:6]
    assert query is not None and key is not None and value is not None
    result = node.outputs[0]
    lead, queries, keys = result.shape[:-2], result.shape[-2], key.shape[-2]
    if _score_lead(op, query, key) != lead:
        return None
    heads = [
        _with_lead(emit.widened(node, layout.slot(t)), lead, op.enable_gqa and t is not query)
        for t in (query, key, value)
    ]
    mask = None if attn_mask is None else emit.widened(node, layout.slot(attn_mask)).expanded((*lead, queries, keys))
    hidden = _hidden_keys(context, node, padding, (*lead, queries, keys))
    sink = None if sinks is None else emit.widened(node, layout.slot(sinks)).expanded(lead)
    order: Sequence[int] = range(len(result.shape))
    if len(query.shape) == len(result.shape) and layout.slot(query).order[-1] == len(lead) + 1:
        order = layout.slot(query).order
    out = layout.allocate(result, order)
    if not lead:  # a single head
        heads, out = [_Heads(slot.inserted(0), 1) for slot, _ in heads], out.inserted(0)
        mask, hidden = (None if slot is None else slot.inserted(0) for slot in (mask, hidden))
    q, k, v = heads
    return _Operands(q, k, v, mask, hidden, sink, out)


def _score_lead(op: ScaledDotProductAttention, query: Tensor, key: Tensor) -> tuple[int, ...]:
    """Return the leading axes of the scores."""
    shape = key.shape[:-2]
    if op.enable_gqa:
        shape = (*shape[:-1], query.shape[-3])
    return np.broadcast_shapes(query.shape[:-2], shape)


def _with_lead(slot: Slot, lead: tuple[int, ...], grouped: bool) -> _Heads:
    """Return queries, keys or values with the leading axes of the result, but for their own heads if ``grouped``."""
    length, depth = slot.shape[-2:]
    heads = slot.shape[-3] if grouped else None
    if heads is None or heads == lead[-1]:
        return _Heads(slot.expanded((*lead, length, depth)), 1)
    return _Heads(slot.expanded((*lead[:-1], heads, length, depth)), lead[-1] // heads)


def _hidden_keys(
    context: LoweringContext, node: GraphNode, padding: Tensor | None, shape: tuple[int, ...]
) -> Slot | None:
    """Emit a row of 0 for each key and −∞ for padding, to be added to the scores (of this shape) of a sample."""
    if padding is None:
        return None
    operand = context.layout.slot(padding)
    if len(shape) > 2:  # (…, batch, keys) to (…, batch, heads, queries, keys)
        spread = operand.reshaped((*operand.shape[:-1], 1, 1, operand.shape[-1]))
    else:
        spread = operand.reshaped((1, operand.shape[-1]) if len(operand.shape) == 1 else operand.shape)
    target = context.layout.temporary(padding.shape, compute_dtype(node.outputs[0].dtype))

    def bind(job: int, buffers: Buffers) -> Job:
        result = target.array()
        return sequence([partial(result.fill, 0), partial(np.copyto, result, -np.inf, where=operand.array())])

    emit_jobs(context, node, reads=(operand,), writes=(target,), jobs=[0], bind=bind, what="mask")
    rows = target.reshaped(spread.shape) if spread is not None else None
    assert rows is not None
    return rows.expanded((*shape[:-2], 1, shape[-1]))
