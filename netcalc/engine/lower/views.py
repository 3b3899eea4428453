"""Operations that are views of their operand: shapes, orders of axes, parts, broadcasts."""

from __future__ import annotations

from dataclasses import replace

from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.registry import lowering
from netcalc.engine.storage import Slot


@lowering("reshape", "flatten", "unflatten", "squeeze", "unsqueeze")
def lower_reshape(context: LoweringContext, node: GraphNode) -> bool:
    """Place the result in another shape; copy the operand if its elements do not lie in order."""
    slot, shape = _operand(context, node), node.outputs[0].shape
    view = slot.reshaped(shape) or context.emit.copy(node, slot).reshaped(shape)
    assert view is not None
    context.layout.alias(node.outputs[0], view)
    return True


@lowering("transpose")
def lower_transpose(context: LoweringContext, node: GraphNode) -> bool:
    """Place the result with two axes exchanged."""
    slot = _operand(context, node)
    axes = list(range(len(slot.shape)))
    first, second = (axis % len(axes) for axis in node.op.axes)
    axes[first], axes[second] = second, first
    context.layout.alias(node.outputs[0], slot.permuted(axes))
    return True


@lowering("permute")
def lower_permute(context: LoweringContext, node: GraphNode) -> bool:
    """Place the result with all axes in another order."""
    slot = _operand(context, node)
    context.layout.alias(node.outputs[0], slot.permuted([axis % len(slot.shape) for axis in node.op.axes]))
    return True


@lowering("select")
def lower_select(context: LoweringContext, node: GraphNode) -> bool:
    """Place the result at one index of an axis."""
    slot = _operand(context, node)
    axis = node.op.axis % len(slot.shape)
    context.layout.alias(node.outputs[0], slot.part(axis, node.op.index % slot.shape[axis], 1).without(axis))
    return True


@lowering("slice")
def lower_slice(context: LoweringContext, node: GraphNode) -> bool:
    """Place the result at ranges of axes."""
    slot = _operand(context, node)
    for axis, start, stop, step in node.op.ranges():
        places = range(slot.shape[axis])[start:stop:step]
        slot = slot.part(axis % len(slot.shape), places.start, len(places), step)
    context.layout.alias(node.outputs[0], slot)
    return True


@lowering("chunk", "split")
def lower_split(context: LoweringContext, node: GraphNode) -> bool:
    """Place the results one after the other along an axis."""
    slot, start = _operand(context, node), 0
    axis = node.op.axis % len(slot.shape)
    for result in node.outputs:
        context.layout.alias(result, slot.part(axis, start, result.shape[axis]))
        start += result.shape[axis]
    return True


@lowering("expand")
def lower_expand(context: LoweringContext, node: GraphNode) -> bool:
    """Place the result with axes of size 1 broadcast."""
    context.layout.alias(node.outputs[0], _operand(context, node).expanded(node.outputs[0].shape))
    return True


@lowering("real", "imag")
def lower_part(context: LoweringContext, node: GraphNode) -> bool:
    """Place the result at the real or at the imaginary parts."""
    slot, part = _operand(context, node), node.outputs[0].dtype
    offset = slot.offset + (part.itemsize if node.op.name == "imag" else 0)
    context.layout.alias(node.outputs[0], replace(slot, dtype=part, offset=offset))
    return True


@lowering("bitcast")
def lower_bitcast(context: LoweringContext, node: GraphNode) -> bool:
    """Place the result at the same bits, as elements of another type."""
    context.layout.alias(node.outputs[0], replace(_operand(context, node), dtype=node.outputs[0].dtype))
    return True


@lowering("view_as_real")
def lower_view_as_real(context: LoweringContext, node: GraphNode) -> bool:
    """Place the result at the parts, along an axis of their own."""
    slot, result = _operand(context, node), node.outputs[0]
    view = replace(slot, shape=result.shape, strides=(*slot.strides, result.dtype.itemsize), dtype=result.dtype)
    context.layout.alias(result, view)
    return True


@lowering("view_as_complex")
def lower_view_as_complex(context: LoweringContext, node: GraphNode) -> bool:
    """Place the result at pairs of neighbours; copy the operand if the two are not side by side."""
    slot, result = _operand(context, node), node.outputs[0]
    if slot.strides[-1] != slot.dtype.itemsize:
        slot = context.emit.copy(node, slot)
    context.layout.alias(result, replace(slot, shape=result.shape, strides=slot.strides[:-1], dtype=result.dtype))
    return True


@lowering("parameter", "linear_weight", "buffer")
def lower_parameter(context: LoweringContext, node: GraphNode) -> bool:
    """Place the result at the parameter itself."""
    (param,) = node.instance.node.params
    context.layout.alias(node.outputs[0], context.constants.parameter(node, param.name))
    return True


def _operand(context: LoweringContext, node: GraphNode) -> Slot:
    return context.layout.slot(node.operand)
