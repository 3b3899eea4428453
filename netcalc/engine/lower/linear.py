"""Fully connected layers."""

from __future__ import annotations

from collections.abc import Callable

from netcalc.arrays import Array
from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.conv.geometry import Convolution
from netcalc.engine.lower.conv.packed import emit_packed
from netcalc.engine.lower.emission import compute_dtype
from netcalc.engine.lower.epilogue import Epilogue
from netcalc.engine.lower.gemm import emit_product
from netcalc.engine.lower.packed_weights import reads_packed
from netcalc.engine.lower.registry import lowering
from netcalc.engine.storage import Slot


@lowering("linear")
def lower_linear(context: LoweringContext, node: GraphNode) -> bool:
    """Emit input · weightᵀ."""
    operand, result = node.operand, node.result
    _, given_weight, given_bias = node.inputs
    if result.dtype.kind == "c":  # tiles are of real numbers
        return False
    if not operand.shape or 0 in (*operand.shape, *result.shape) or given_bias is not None:  # epilogues take constants
        return False
    bias = None
    if context.constants.has(node, "bias"):
        dtype = compute_dtype(result.dtype)
        bias = context.constants.derived(
            (result.shape[-1],), dtype, lambda: context.constants.fetch(node, "bias").astype(dtype, copy=False)
        )
    rows, order = operand.elements // operand.shape[-1], range(len(operand.shape))
    x = context.emit.rows(node, context.layout.slot(operand), order)
    epilogue = Epilogue(context, node, node.outputs[0], node.after, order, bias)
    out = context.layout.allocate(result).reshaped((rows, result.shape[-1]))
    assert out is not None
    if given_weight is None and reads_packed(context, node):
        conv = _convolution(node, x, out, epilogue, lambda: context.constants.fetch(node, "weight")[..., None])
        emit_packed(context, conv, "weight")
        return True
    weight = _weight(context, node, x) if given_weight is None else context.layout.slot(given_weight).permuted((1, 0))
    emit_product(context, node, x, weight, out, epilogue)
    return True


def _convolution(node: GraphNode, x: Slot, out: Slot, epilogue: Epilogue, filters: Callable[[], Array]) -> Convolution:
    """Return the layer as a convolution of one tap, of an image of one row."""

    return Convolution(node, x.inserted(0), out.inserted(0), (1,), (1,), (1,), ((0, 0),), 1, filters, epilogue)


def _weight(context: LoweringContext, node: GraphNode, x: Slot) -> Slot:
    """Return the weight as (features of the input ``x``, of the result), transposed when it is loaded.

    For a single row, or if other operations share the weight, it stays as stored.
    """
    constants = context.constants
    if x.shape[0] == 1 or len(constants.users(node, "weight")) > 1:
        return constants.parameter(node, "weight").permuted((1, 0))
    shape = (x.shape[1], node.outputs[0].shape[-1])
    return constants.filled(shape, x.dtype, lambda out: constants.write(node, "weight", out.T))
