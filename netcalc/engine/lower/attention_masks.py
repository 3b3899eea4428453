"""Masks of attention: boolean ones become numbers to be added to the scores, once for all layers that share a mask."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.passes import Passes
from netcalc.engine.step import Buffers, Job, Step
from netcalc.engine.storage import Slot


def padding_rows(
    context: LoweringContext, node: GraphNode, padding: Slot, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Slot:
    """Return a row of 0 for each key and −∞ for padding, to be added to the scores (of this shape) of a sample."""
    rows = _additive_mask(context, node, padding, dtype, hidden=True)
    if len(shape) > 2:  # (…, batch, keys) to (…, batch, heads, queries, keys)
        spread = rows.reshaped((*rows.shape[:-1], 1, 1, rows.shape[-1]))
    else:
        spread = rows.reshaped((1, rows.shape[-1]) if len(rows.shape) == 1 else rows.shape)
    assert spread is not None
    return spread.expanded((*shape[:-2], 1, shape[-1]))


def added_mask(
    context: LoweringContext, node: GraphNode, mask: Slot, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Slot:
    """Return a mask for scores of this shape as numbers to be added; a large boolean one as it is, True if visible."""
    if mask.dtype != np.bool_:
        mask = context.emit.widened(node, mask)
    elif mask.elements * dtype.itemsize <= context.tuning.attention_mask_bytes:
        mask = _additive_mask(context, node, mask, dtype, hidden=False)
    return mask.expanded(shape)


def _additive_mask(context: LoweringContext, node: GraphNode, mask: Slot, dtype: np.dtype[Any], hidden: bool) -> Slot:
    """Return −∞ where the mask is ``hidden``, and 0 elsewhere; one slot for all nodes that ask for it."""
    key = (mask.store, mask.shape, mask.strides, mask.offset, dtype, hidden)
    if key in context.masks:
        return context.masks[key]
    target = context.masks[key] = context.layout.temporary(mask.shape, dtype)
    once = context.layout.is_constant(mask)
    if once:
        context.layout.keep(target)
    start, other = (0, -np.inf) if hidden else (-np.inf, 0)

    def bind(job: int, buffers: Buffers) -> Job:
        result = target.array()
        return Passes([partial(result.fill, start), partial(np.copyto, result, other, where=mask.array())])

    context.emit.step(Step(node, (mask,), (target,), 1, bind, constant=once, what="mask"))
    return target
