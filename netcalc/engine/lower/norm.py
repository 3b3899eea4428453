"""Normalization of the vectors along the last axes by their own statistics.

Sums are products with a vector of ones, and sums of squares are products of a row with itself: BLAS computes them
faster than NumPy's reductions.  The kernel in C does all passes over a row while that is in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.broadcast import across
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.emission import compute_dtype
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.registry import lowering
from netcalc.engine.lower.tiling import emit_tiles, strips
from netcalc.engine.native.library import blocks_fit
from netcalc.engine.native.norm import norm
from netcalc.engine.step import Buffers
from netcalc.engine.storage import Slot
from netcalc.numerics.kernels import wide


@lowering("layer_norm", "rms_norm")
def lower_norm(context: LoweringContext, node: GraphNode) -> bool:
    """Emit the normalization of each vector, which is a row."""
    operand, result = node.operand, node.outputs[0]
    if 0 in operand.shape or any(tensor is not None for tensor in node.inputs[1:]):  # the passes take constants
        return False
    rank, count = len(operand.shape), node.op.count
    slot = context.layout.slot(operand)
    width = math.prod(operand.shape[-count:])
    shape = (slot.elements // width, width)
    out = context.layout.allocate(result).reshaped(shape)
    assert out is not None
    _emit_rows(context, node, context.emit.rows(node, slot, range(rank), -count), out)
    return True


def _emit_rows(context: LoweringContext, node: GraphNode, x: Slot, out: Slot) -> None:
    """Emit the normalization of each row, strip by strip."""
    width, tuning = x.shape[1], context.tuning
    dtype = compute_dtype(x.dtype)
    compiled = tuning.compiled and blocks_fit() and x.dtype == out.dtype == np.float32
    ones = None if compiled else context.constants.ones(width, dtype)
    weight, bias = (affine_vector(context, node, name, width) for name in ("weight", "bias"))
    for vector in (weight, bias):
        if vector is not None and not compiled:
            context.repeat(vector, x.shape[0])
    tiles = [slice(*strip) for strip in strips(x.shape[0], x.elements, context.parallelism)]
    most = max(rows.stop - rows.start for rows in tiles)

    def compute(rows: slice, result: Array, buffers: Buffers) -> Iterator[Pass]:
        operand = x.array()[rows]
        if ones is None:
            factors, shifts = (None if vector is None else vector.array() for vector in (weight, bias))
            yield norm(operand, result, factors, shifts, _epsilon(node, dtype), node.op.name == "layer_norm")
            return
        factor = buffers.view("factors", (len(result),))
        column = factor[:, None]
        if operand.dtype != dtype:
            yield partial(np.copyto, result, operand)
            operand = result
        if node.op.name == "layer_norm":
            yield partial(np.matmul, operand, ones.array(), factor)
            yield partial(np.divide, factor, dtype.type(width), factor)
            yield partial(np.subtract, operand, column, result)
            operand = result
        yield partial(np.matmul, operand[:, None, :], operand[:, :, None], factor[:, None, None])
        yield from _reciprocal_root(node, factor, width)
        yield partial(np.multiply, operand, column, result)
        if weight is not None:
            yield across(np.multiply, result, result, weight.array(), tuning)
        if bias is not None:
            yield across(np.add, result, result, bias.array(), tuning)

    emit_tiles(
        context,
        node,
        reads=[slot for slot in (x, ones, weight, bias) if slot is not None],
        out=out,
        tiles=tiles,
        index=lambda rows: (rows,),
        compute=compute,
        buffers={} if compiled else {"factors": most},
    )


def _reciprocal_root(node: GraphNode, sums: Array, width: int) -> list[Pass]:
    """Return the passes that compute 1/√(s/width + ε) of sums of squares, in place."""
    kind = sums.dtype.type
    return [
        partial(np.divide, sums, kind(width), sums),
        partial(np.add, sums, kind(_epsilon(node, sums.dtype)), sums),
        partial(np.sqrt, sums, sums),
        partial(np.reciprocal, sums, sums),
    ]


def _epsilon(node: GraphNode, dtype: np.dtype[Any]) -> float:
    """Return what is added to the mean of squares."""
    return float(np.finfo(dtype).eps) if node.op.eps is None else node.op.eps


def affine_vector(context: LoweringContext, node: GraphNode, name: str, width: int) -> Slot | None:
    """Return a weight or bias as a vector in the type of the arithmetic; None if the node has none."""
    if not context.constants.has(node, name):
        return None
    dtype = compute_dtype(node.outputs[0].dtype)
    offset = getattr(node.op, "offset", 0)

    def load() -> Array:
        values = wide(context.constants.fetch(node, name)).reshape(-1)
        return values + dtype.type(offset) if offset else values

    return context.constants.derived((width,), dtype, load)
