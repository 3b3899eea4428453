"""Softmax along an axis, strip by strip and in place."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.emission import compute_dtype
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.registry import lowering
from netcalc.engine.lower.tiling import emit_tiles, strips
from netcalc.engine.step import Buffers
from netcalc.engine.storage import Slot


@lowering("softmax", "log_softmax")
def lower_softmax(context: LoweringContext, node: GraphNode) -> bool:
    """Emit exp(x − max) over its sum, or x − max − log of that sum, on (outer, length, inner)."""
    operand, result = node.operand, node.outputs[0]
    if not operand.shape or 0 in operand.shape:
        return False
    axis = node.op.axis % len(operand.shape)
    length, inner = operand.shape[axis], math.prod(operand.shape[axis + 1 :])
    shape = (math.prod(operand.shape[:axis]), length, inner)
    slot = context.layout.slot(operand)
    x = slot.reshaped(shape) or context.emit.copy(node, slot).reshaped(shape)
    out = context.layout.allocate(result).reshaped(shape)
    assert x is not None and out is not None
    logarithm, dtype = node.op.name == "log_softmax", compute_dtype(result.dtype)
    ones = context.constants.ones(length, dtype)
    cut = 0 if shape[0] >= context.parallelism.threads or shape[0] >= inner else 2  # the axis that is cut
    parts = strips(shape[cut], x.elements, context.parallelism)
    most = max(end - start for start, end in parts) * x.elements // shape[cut]
    emit_tiles(
        context,
        node,
        reads=(x, ones),
        out=out,
        tiles=[(slice(None),) * cut + (slice(*part),) for part in parts],
        index=lambda tile: tile,
        compute=lambda tile, result, buffers: _passes(x.array()[tile], ones, result, buffers, logarithm),
        buffers={"totals": most // length, "powers": most if logarithm else 0},
    )
    return True


def _passes(x: Array, ones: Slot, result: Array, buffers: Buffers, logarithm: bool) -> Iterator[Pass]:
    outer, _, inner = result.shape
    powers = buffers.view("powers", result.shape) if logarithm else result
    totals = buffers.view("totals", (outer, 1, inner))  # first the largest elements, then sums of powers
    if x.dtype != result.dtype:
        yield partial(np.copyto, result, x)
        x = result
    yield partial(np.maximum.reduce, x, axis=1, keepdims=True, out=totals)
    yield partial(np.subtract, x, totals, result)
    yield partial(np.exp, result, powers)
    if inner == 1:  # rows are contiguous
        yield partial(np.matmul, powers[:, :, 0], ones.array(), totals[:, 0, 0])
    else:
        yield partial(np.matmul, ones.array(), powers, totals[:, 0])
    if logarithm:
        yield partial(np.log, totals, totals)
        yield partial(np.subtract, result, totals, result)
    else:
        yield partial(np.reciprocal, totals, totals)
        yield partial(np.multiply, result, totals, result)
