"""Elementwise arithmetic that is not part of another operation's epilogue."""

from __future__ import annotations

from functools import partial

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.fuse import is_elementwise
from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.compiled_broadcast import broadcast_passes
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.emission import compute_dtype
from netcalc.engine.lower.epilogue import Epilogue, combining_ufunc
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.tiling import emit_tiles, strips
from netcalc.engine.step import Buffers
from netcalc.engine.storage import Slot, has_rows, is_dense


def lower_elementwise(context: LoweringContext, node: GraphNode) -> bool:
    """Emit a function of the elements of a tensor, of two, which may be broadcast, or a scale and shift by channel."""
    if not is_elementwise(node):
        return False
    shapes = {tensor.shape for tensor in node.inputs if tensor is not None}
    return _lower_in_place(context, node) if len(shapes) == 1 else _lower_broadcast(context, node)


def _lower_in_place(context: LoweringContext, node: GraphNode) -> bool:
    """Lower a node whose tensors all have one shape, as stages that start from its first operand."""
    operand, result = node.operand, node.result
    if not operand.shape or 0 in operand.shape:
        return False
    stages = [node, *node.after]
    slot = context.layout.slot(operand)
    rank = len(operand.shape)
    order = slot.order
    if any(stage.op.normalizes_channels for stage in stages):
        order = (0, *range(2, rank), 1)
    elif not (is_dense(slot, order) or has_rows(slot.permuted(order))):
        order = tuple(range(rank))
    x = context.emit.rows(node, slot, order)
    epilogue = Epilogue(context, node, operand, stages, order)
    out = context.layout.allocate(result, order).permuted(order).reshaped(x.shape)
    assert out is not None
    _emit_rows(context, node, x, out, epilogue)
    return True


def _emit_rows(context: LoweringContext, node: GraphNode, x: Slot, out: Slot, epilogue: Epilogue) -> None:
    """Emit a step that applies the epilogue to rows, strip by strip."""
    height, width = x.shape
    dtype = compute_dtype(out.dtype)
    same_type = x.dtype == dtype

    def compute(rows: slice, result: Array, buffers: Buffers) -> list[Pass]:
        return [] if same_type else [partial(np.copyto, result, x.array()[rows])]

    emit_tiles(
        context,
        node,
        reads=(x,),
        out=out,
        tiles=[slice(*strip) for strip in strips(height, x.elements, context.parallelism)],
        index=lambda rows: (rows, slice(0, width)),
        compute=compute,
        source=(lambda rows: x.array()[rows]) if same_type else None,
        epilogue=epilogue,
    )


def _lower_broadcast(context: LoweringContext, node: GraphNode) -> bool:
    """Lower a function of two tensors of which one is broadcast."""
    first, second = (t for t in node.inputs if t is not None)
    result = node.result
    if compute_dtype(result.dtype) != result.dtype or not result.shape or 0 in result.shape:
        return False
    full = next((t for t in (first, second) if t.shape == result.shape), None)
    order = tuple(range(len(result.shape))) if full is None else context.layout.slot(full).order
    if any(stage.op.normalizes_channels for stage in node.after):
        order = (0, *range(2, len(order)), 1)
    operands = [context.layout.slot(t).expanded(result.shape).permuted(order) for t in (first, second)]
    epilogue = Epilogue(context, node, node.outputs[0], node.after, order)
    out = context.layout.allocate(result, order).permuted(order)
    shape, width = out.shape, out.shape[-1]
    rows = out.reshaped((out.elements // width, width))
    assert rows is not None
    axis = next((axis for axis, size in enumerate(shape) if size > 1), 0)
    rows_per_place = out.elements // shape[axis] // width
    cut = axis < len(shape) - 1  # otherwise the result is a single row
    parts = strips(shape[axis], out.elements, context.parallelism) if cut else [(0, shape[axis])]
    ufunc = combining_ufunc(node)
    if node.op.swaps:
        operands.reverse()

    def index(part: tuple[int, int]) -> tuple[slice, slice]:
        start, end = part
        return slice(start * rows_per_place, end * rows_per_place) if cut else slice(0, 1), slice(0, width)

    def compute(part: tuple[int, int], result: Array, buffers: Buffers) -> list[Pass]:
        place = (slice(None),) * axis + (slice(*part),)
        left, right = (slot.array()[place] for slot in operands)
        target = result.reshape(left.shape)
        passes = broadcast_passes(ufunc, left, right, target) if context.tuning.compiled else None
        return [partial(ufunc, left, right, out=target)] if passes is None else passes

    emit_tiles(context, node, reads=operands, out=rows, tiles=parts, index=index, compute=compute, epilogue=epilogue)
    return True
