"""Fully connected layers."""

from __future__ import annotations

from netcalc.numerics.plan.epilogue import Epilogue
from netcalc.numerics.plan.graph import Node
from netcalc.numerics.plan.lowering import Lowering, lowering, wide_dtype
from netcalc.numerics.plan.products import emit_product


@lowering("linear")
def linear(low: Lowering, node: Node) -> bool:
    """The rows of all leading axes times the weight."""
    source, result = node.inputs[0], node.result
    assert source is not None
    rank = len(source.shape)
    if 0 in (*source.shape, *result.shape) or rank == 0:
        return False
    order = tuple(range(rank))
    x = low.rows(node, low.slot(source), order)
    work = wide_dtype(result.dtype)
    bias = None
    if low.param(node, "bias") is not None:
        bias = low.made((result.shape[-1],), work, lambda: low.fetch(node, "bias").astype(work, copy=False))
    epilogue = Epilogue(low, node, node.outputs[0], node.after, order, bias)
    out = low.new(result)
    rows = out.reshaped((out.elements // result.shape[-1], result.shape[-1]))
    assert rows is not None
    if low.shared(node, "weight"):
        emit_product(low, node, x, low.stored(node, "weight"), rows, epilogue, turned=True)
    else:  # a product of few rows is faster with the matrix lying this way round
        shape = (source.shape[-1], result.shape[-1])
        weight = low.made(shape, source.dtype, lambda: low.fetch(node, "weight").T)
        emit_product(low, node, x, weight, rows, epilogue)
    return True
