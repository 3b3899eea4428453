"""Fully connected layers."""

from __future__ import annotations

from netcalc.engine.graph import Node
from netcalc.engine.lower.context import Lowering, lowering, wide_dtype
from netcalc.engine.lower.epilogue import Epilogue
from netcalc.engine.lower.gemm import emit_product
from netcalc.engine.storage import Slot


@lowering("linear")
def linear(low: Lowering, node: Node) -> bool:
    """The rows of all leading axes times the weight; few rows are left as columns of the result."""
    source, result = node.inputs[0], node.result
    assert source is not None
    rank = len(source.shape)
    if rank == 0 or 0 in (*source.shape, *result.shape):
        return False
    work = wide_dtype(result.dtype)
    bias = None
    if low.param(node, "bias") is not None:
        bias = low.made((result.shape[-1],), work, lambda: low.fetch(node, "bias").astype(work, copy=False))
    features = result.shape[-1]
    rows = source.elements // source.shape[-1]
    transposed = low.tuning.transposed_linear and 1 < rows <= low.tuning.transposed_linear_rows
    if transposed and result not in low.outputs:
        order = (rank - 1, *range(rank - 1))
        x = _columns(low, node, low.slot(source))
        epilogue = Epilogue(low, node, node.outputs[0], node.after, order, bias, channels_first=True)
        out = low.new(result, order).permuted(order).reshaped((features, rows))
        assert out is not None
        emit_product(low, node, low.stored(node, "weight"), x, out, epilogue)
        return True
    x = low.rows(node, low.slot(source), range(rank))
    epilogue = Epilogue(low, node, node.outputs[0], node.after, range(rank), bias)
    out = low.new(result).reshaped((rows, features))
    assert out is not None
    if rows == 1 or low.shared(node, "weight"):
        weight = low.stored(node, "weight").permuted((1, 0))
    else:
        weight = low.made((source.shape[-1], features), source.dtype, lambda: low.fetch(node, "weight").T)
    emit_product(low, node, x, weight, out, epilogue)
    return True


def _columns(low: Lowering, node: Node, slot: Slot) -> Slot:
    """The tensor as (features, rows), whichever of the two is innermost in memory."""
    last = len(slot.shape) - 1
    shape = (slot.shape[last], slot.elements // slot.shape[last])
    view = slot.permuted((last, *range(last))).reshaped(shape)
    if view is not None and slot.dtype.itemsize in view.strides:
        return view
    return low.rows(node, slot, range(last + 1)).permuted((1, 0))
