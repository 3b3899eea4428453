"""Attention block by block: the scores of some queries are held at a time, for as many heads as fit the cache."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.graph import GraphNode, Tensor
from netcalc.engine.lower.attention_masks import added_mask, padding_rows
from netcalc.engine.lower.attention_scores import (
    Block,
    cut_blocks,
    exponentials,
    hide_masked,
    hide_unreachable,
    pattern_bytes,
    scaled_scores,
)
from netcalc.engine.lower.compiled_attention import (
    compiled_blocks,
    compiled_buffers,
    compiled_pass,
    use_compiled_attention,
)
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.registry import lowering
from netcalc.engine.lower.tiling import Index, emit_tiles
from netcalc.engine.step import Buffers, BufferSpec
from netcalc.engine.storage import Slot
from netcalc.ops.attention import ScaledDotProductAttention


class _Heads(NamedTuple):
    """Queries, keys or values (lead…, heads, length, depth), each of which serves ``group`` heads of the result."""

    slot: Slot
    group: int

    def select(self, tile: _Tile) -> Array:
        """Return the arrays of the heads of a tile, or for each of its samples the single one that they share."""
        array: Array = self.slot.array()[tile.outer]
        first = tile.heads.start // self.group
        return array[tile.samples, tile.heads if self.group == 1 else slice(first, first + 1)]


class _Operands(NamedTuple):
    """Operands and the result, all with the same leading axes, at least two.

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
    """A block of the scores of a range of heads, of some samples along the axis before the heads."""

    outer: tuple[int, ...]
    samples: slice
    heads: slice
    block: Block

    @property
    def groups(self) -> tuple[int, int]:
        """Number of samples and heads."""
        return self.samples.stop - self.samples.start, self.heads.stop - self.heads.start

    def place(self) -> Index:
        """Index of the tile in the result."""
        return (*self.outer, self.samples, self.heads, self.block.queries)


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
    slots = [query, operands.key.slot, operands.value.slot, out]
    if use_compiled_attention(context, op, slots, query.shape[-2]):
        _emit_compiled(context, node, operands)
        return True
    blocks = cut_blocks(op, query.shape[-2], operands.key.slot.shape[-2], context.tuning)
    tiles = _cut_tiles(context, operands, blocks, context.tuning.attention_group_scores)
    rows = max(math.prod(tile.groups) * (tile.block.bottom - tile.block.top) for tile in tiles)
    scores = max(math.prod(tile.groups) * tile.block.elements for tile in tiles)
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
        buffers=buffers,
    )
    return True


def _emit_compiled(context: LoweringContext, node: GraphNode, operands: _Operands) -> None:
    op: ScaledDotProductAttention = node.op
    query, value, tuning = operands.query.slot, operands.value.slot, context.tuning
    (*lead, queries, depth), (keys, width) = query.shape, value.shape[-2:]
    heads, offset = math.prod(lead), keys - queries if op.alignment == "lower_right" else 0
    jobs = context.parallelism.pass_jobs(heads * queries * keys)
    blocks = compiled_blocks(op, queries, keys, heads, jobs, tuning)
    masks = [slot for slot in (operands.mask, operands.hidden_keys) if slot is not None]

    def compute(tile: _Tile, result: Array, buffers: Buffers) -> Iterator[Pass]:
        block = tile.block
        if block.left >= block.right:
            yield partial(result.fill, 0)
            return
        q = operands.query.select(tile)[..., block.queries, :]
        k, v = (operand.select(tile)[..., block.keys, :] for operand in (operands.key, operands.value))
        hidden = [slot.array()[tile.outer][tile.samples, tile.heads] for slot in masks]
        hidden = [array[:, :, block.queries if array.shape[2] > 1 else slice(None), block.keys] for array in hidden]
        sinks = None if operands.sinks is None else operands.sinks.array()[tile.outer][tile.samples, tile.heads]
        yield compiled_pass(op, block, offset, (q, k, v, result), hidden, sinks, buffers, tuning)

    emit_tiles(
        context,
        node,
        reads=operands.reads(),
        out=operands.out,
        tiles=_cut_tiles(context, operands, blocks, None),
        index=_Tile.place,
        compute=compute,
        buffers=compiled_buffers(blocks, depth, width, tuning),
    )


def _passes(
    op: ScaledDotProductAttention,
    operands: _Operands,
    tile: _Tile,
    result: Array,
    buffers: Buffers,
    patterns: dict[bytes, Array],
    ones: Slot,
) -> Iterator[Pass]:
    block = tile.block
    if block.left >= block.right:
        yield partial(result.fill, 0)
        return
    scores = buffers.view("scores", (*tile.groups, block.bottom - block.top, block.right - block.left))
    sums = buffers.view("sums", (2, *scores.shape[:-1], 1))
    v = operands.value.select(tile)[..., block.keys, :]
    column = ones.array()[: scores.shape[-1]]
    yield from _masked_scores(op, operands, tile, scores, buffers, patterns)
    sinks = None if operands.sinks is None else operands.sinks.array()[tile.outer][tile.samples, tile.heads, None, None]
    yield from exponentials(scores, sums, sinks, column)
    yield partial(np.matmul, scores, v, result)
    yield partial(np.reciprocal, sums[1], sums[1])
    yield partial(np.multiply, result, sums[1], result)


def _masked_scores(
    op: ScaledDotProductAttention,
    operands: _Operands,
    tile: _Tile,
    scores: Array,
    buffers: Buffers,
    patterns: dict[bytes, Array],
) -> Iterator[Pass]:
    """Yield the passes that compute the scores of a tile, −∞ where a key is hidden from a query."""
    outer, samples, heads, block = tile
    q = operands.query.select(tile)[..., block.queries, :]
    k = operands.key.select(tile)[..., block.keys, :]
    yield from scaled_scores(op, q, k, buffers.view("scaled queries", q.shape), scores)
    if operands.mask is not None:
        mask = operands.mask.array()[outer][samples, heads, block.queries, block.keys]
        hidden = buffers.view("hidden", scores.shape) if mask.dtype == np.bool_ else scores
        yield from hide_masked(scores, mask, hidden)
    if operands.hidden_keys is not None:
        yield partial(np.add, scores, operands.hidden_keys.array()[outer][samples, heads, :, block.keys], scores)
    queries, keys = operands.out.shape[-2], operands.key.slot.shape[-2]
    yield from hide_unreachable(op, block, keys - queries, scores, patterns)


def _cut_tiles(
    context: LoweringContext, operands: _Operands, blocks: Sequence[Block], group_scores: int | None
) -> list[_Tile]:
    """Cut the result into tiles: blocks of queries, of as many heads, then of as many samples, as fit the cache.

    At most ``group_scores`` of several heads are in a tile; None for no limit.
    """
    *outer, samples, heads, queries, _ = operands.out.shape
    keys = operands.key.slot.shape[-2]
    jobs = context.parallelism.pass_jobs(math.prod(outer) * samples * heads * queries * keys)
    shared = [operand.group for operand in (operands.query, operands.key, operands.value) if operand.group > 1]
    alike = math.gcd(*shared) or heads  # heads that use one set of keys and values
    sizes = [(1, size) for size in range(1, alike + 1) if alike % size == 0]
    if alike == heads:
        sizes += [(size, heads) for size in range(2, samples + 1) if samples % size == 0]
    most = max(1, max(block.elements for block in blocks))
    fitting = [size for size in sizes if group_scores is None or math.prod(size) * most <= group_scores] or sizes[:1]
    tiles = math.prod(outer) * samples * heads * len(blocks)
    height, width = min(fitting, key=lambda size: (_longest(tiles, math.prod(size), jobs), -math.prod(size)))
    return [
        _Tile(place, slice(sample, sample + height), slice(head, head + width), block)
        for place in np.ndindex(*outer)
        for sample in range(0, samples, height)
        for head in range(0, heads, width)
        for block in blocks
    ]


def _longest(tiles: int, size: int, jobs: int) -> int:
    """Return the largest share of ``jobs`` workers in so many tiles, which are computed ``size`` at a time."""
    return -(-(tiles // size) // jobs) * size


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
    shape, dtype = (*lead, queries, keys), heads[0].slot.dtype
    mask = None if attn_mask is None else added_mask(context, node, layout.slot(attn_mask), shape, dtype)
    hidden = None if padding is None else padding_rows(context, node, layout.slot(padding), shape, dtype)
    sink = None if sinks is None else emit.widened(node, layout.slot(sinks)).expanded(lead)
    order: Sequence[int] = range(len(result.shape))
    if len(query.shape) == len(result.shape) and layout.slot(query).order[-1] == len(lead) + 1:
        order = layout.slot(query).order
    out = layout.allocate(result, order)
    for _ in range(2 - len(lead)):
        heads, out = [_Heads(slot.inserted(0), group) for slot, group in heads], out.inserted(0)
        mask, hidden, sink = (None if slot is None else slot.inserted(0) for slot in (mask, hidden, sink))
    q, k, v = heads
    return _Operands(q, k, v, mask, hidden, sink, out)


def _score_lead(op: ScaledDotProductAttention, query: Tensor, key: Tensor) -> tuple[int, ...]:
    """Return the leading axes of the scores."""
    shape = key.shape[:-2]
    if op.enable_gqa:
        shape = (*shape[:-1], query.shape[-3])
    return np.broadcast_shapes(query.shape[:-2], shape)


def _with_lead(slot: Slot, lead: tuple[int, ...], grouped: bool) -> _Heads:
    """Return queries, keys or values with the leading axes of the result; they keep their own heads if ``grouped``."""
    length, depth = slot.shape[-2:]
    heads = slot.shape[-3] if grouped else None
    if heads is None or heads == lead[-1]:
        return _Heads(slot.expanded((*lead, length, depth)), 1)
    return _Heads(slot.expanded((*lead[:-1], heads, length, depth)), lead[-1] // heads)
