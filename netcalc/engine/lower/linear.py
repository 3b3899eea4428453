"""Fully connected layers."""

from __future__ import annotations

from netcalc.engine.graph import GraphNode, Tensor
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.emission import compute_dtype
from netcalc.engine.lower.epilogue import Epilogue
from netcalc.engine.lower.gemm import emit_product
from netcalc.engine.lower.registry import lowering
from netcalc.engine.storage import Slot


@lowering("linear")
def lower_linear(context: LoweringContext, node: GraphNode) -> bool:
    """Emit input · weightᵀ, or for few rows weight · inputᵀ, which lays the result out features first."""
    operand, result = node.inputs[0], node.result
    assert operand is not None
    if not operand.shape or 0 in (*operand.shape, *result.shape):
        return False
    bias = None
    if context.constants.has(node, "bias"):
        dtype = compute_dtype(result.dtype)
        bias = context.constants.derived(
            (result.shape[-1],), dtype, lambda: context.constants.fetch(node, "bias").astype(dtype, copy=False)
        )
    rows, tuning = operand.elements // operand.shape[-1], context.tuning
    transposed = tuning.transposed_linear and 1 < rows <= tuning.transposed_linear_rows
    emit = _emit_transposed if transposed and not context.layout.is_output(result) else _emit
    emit(context, node, operand, rows, bias)
    return True


def _emit(context: LoweringContext, node: GraphNode, operand: Tensor, rows: int, bias: Slot | None) -> None:
    """Emit input · weightᵀ, the weight transposed when it is loaded unless other operations share it."""
    order, features = range(len(operand.shape)), node.result.shape[-1]
    x = context.emit.rows(node, context.layout.slot(operand), order)
    epilogue = Epilogue(context, node, node.outputs[0], node.after, order, bias)
    out = context.layout.allocate(node.result).reshaped((rows, features))
    assert out is not None
    constants = context.constants
    if rows == 1 or constants.is_shared(node, "weight"):
        weight = constants.parameter(node, "weight").permuted((1, 0))
    else:
        shape = (operand.shape[-1], features)
        weight = constants.derived(shape, operand.dtype, lambda: constants.fetch(node, "weight").T)
    emit_product(context, node, x, weight, out, epilogue)


def _emit_transposed(context: LoweringContext, node: GraphNode, operand: Tensor, rows: int, bias: Slot | None) -> None:
    """Emit weight · inputᵀ: a product is faster with its long side first, and the weight stays as it is stored."""
    rank = len(operand.shape)
    order = (rank - 1, *range(rank - 1))
    x = _columns(context, node, context.layout.slot(operand))
    epilogue = Epilogue(context, node, node.outputs[0], node.after, order, bias, channels_first=True)
    out = context.layout.allocate(node.result, order).permuted(order).reshaped((node.result.shape[-1], rows))
    assert out is not None
    emit_product(context, node, context.constants.parameter(node, "weight"), x, out, epilogue)


def _columns(context: LoweringContext, node: GraphNode, slot: Slot) -> Slot:
    """Return the tensor as (features, rows), whichever of the two is innermost in memory."""
    last = len(slot.shape) - 1
    shape = (slot.shape[last], slot.elements // slot.shape[last])
    view = slot.permuted((last, *range(last))).reshaped(shape)
    if view is not None and slot.dtype.itemsize in view.strides:
        return view
    return context.emit.rows(node, slot, range(last + 1)).permuted((1, 0))
