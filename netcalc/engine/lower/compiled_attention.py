"""Attention by the compiled kernel, which packs keys and values once for all queries of a head."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.lower.attention_scores import Block, cut_blocks
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.passes import Pass
from netcalc.engine.native.attention import attention, buffer_elements
from netcalc.engine.native.library import blocks_fit
from netcalc.engine.step import Buffers, cuts
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning
from netcalc.ops.attention import ScaledDotProductAttention


def use_compiled_attention(
    context: LoweringContext, op: ScaledDotProductAttention, operands: Sequence[Slot], queries: int
) -> bool:
    """Return True if there is a kernel, and it takes these queries, keys, values and result."""
    return (
        context.tuning.compiled
        and blocks_fit()
        and queries >= context.tuning.compiled_attention_queries
        and not (op.window is not None and op.global_tokens)
        and all(slot.dtype == np.float32 for slot in operands[:3])
        and all(slot.strides[-1] == slot.dtype.itemsize or slot.shape[-1] == 1 for slot in operands)
    )


def compiled_blocks(
    op: ScaledDotProductAttention, queries: int, keys: int, heads: int, jobs: int, tuning: Tuning
) -> list[Block]:
    """Cut the queries into few blocks that leave work for all jobs, or smaller ones if each sees a window of keys."""
    if op.window is not None:
        return cut_blocks(op, queries, keys, tuning)
    offset = keys - queries if op.alignment == "lower_right" else 0
    return [
        Block(top, bottom, 0, max(0, min(keys, bottom + offset)) if op.causal else keys)
        for top, bottom in cuts(queries, 1 if heads % jobs == 0 or heads >= 4 * jobs else jobs)
    ]


def compiled_buffers(blocks: Sequence[Block], depth: int, width: int, tuning: Tuning) -> dict[str, int]:
    """Return the elements of the scratch buffers."""
    keys = max(1, *(block.right - block.left for block in blocks))
    return buffer_elements(keys, depth, width, tuning.compiled_attention_scores)


def compiled_pass(
    op: ScaledDotProductAttention,
    block: Block,
    offset: int,
    arrays: tuple[Array, Array, Array, Array],
    masks: Sequence[Array],
    sinks: Array | None,
    buffers: Buffers,
    tuning: Tuning,
) -> Pass:
    """Return the call that computes a block from its queries, keys and values, into the last of the ``arrays``.

    Args:
        op: the operation.
        block: queries and keys of the arrays.
        offset: position of the first query less the position of the first key, by the alignment.
        arrays: (samples, heads, length, features) each.
        masks: of the block.
        sinks: (samples, heads).
        buffers: scratch of :func:`compiled_buffers`.
        tuning: sizes.
    """
    q, k, v, out = arrays
    position = block.top + offset - block.left
    before, after = op.window or (None, None)
    limits = [position + reach + 1 for reach in (after, 0 if op.causal else None) if reach is not None]
    scratch = buffer_elements(k.shape[-2], q.shape[-1], v.shape[-1], tuning.compiled_attention_scores)
    return attention(
        *(q, k, v, out),
        [buffers[name][:elements] for name, elements in scratch.items()],
        scale=1 / math.sqrt(q.shape[-1]) if op.scale is None else op.scale,
        cap=op.softcap or 0,
        masks=masks,
        sinks=sinks,
        first=None if before is None else position - before,
        last=min(limits, default=None),
        most_scores=tuning.compiled_attention_scores,
    )
