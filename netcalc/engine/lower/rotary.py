"""Rotary embeddings: pairs of features rotated by angles that depend on the position alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.emission import compute_dtype
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.registry import lowering
from netcalc.engine.lower.tiling import emit_tiles, strips
from netcalc.engine.step import Buffers
from netcalc.engine.storage import Slot
from netcalc.numerics.kernels import Array
from netcalc.numerics.kernels.rotary import halves, tables


@lowering("rotary_embedding")
def lower_rotary(context: LoweringContext, node: GraphNode) -> bool:
    """Emit the rotation, the axes in the order of the operand.  Positions given as an input take the kernel."""
    op, operand, result = node.op, node.inputs[0], node.outputs[0]
    assert operand is not None
    if any(node.inputs[1:]) or 0 in operand.shape:
        return False
    features = operand.shape[-1]
    rotated = features if op.rotary_dim is None else op.rotary_dim
    slot = context.layout.slot(operand)
    rank, dtype = len(operand.shape), compute_dtype(result.dtype)
    order = tuple(range(rank)) if 0 in slot.strides else slot.order
    x, out = context.emit.widened(node, slot), context.layout.allocate(result, order)
    axis = next((a for a in order if a != rank - 1 and operand.shape[a] > 1), 0)  # the axis that is cut
    parts = strips(operand.shape[axis], x.elements, context.parallelism)
    most = max(end - start for start, end in parts) * x.elements // operand.shape[axis]
    features_last = order.index(rank - 1) > order.index(rank - 2)
    angles = _angles(context, op, operand.shape[-2], rotated, dtype, features_last)

    def compute(part: tuple[slice, ...], result: Array, buffers: Buffers) -> Iterator[Pass]:
        cos, sin = angles.array() if features_last else angles.array().swapaxes(1, 2)
        if axis == rank - 2:
            cos, sin = cos[part[axis]], sin[part[axis]]
        pair = halves(op, rotated)
        operand = x.array()[part]
        shape = operand[..., pair[0]].shape
        # the buffer has the axes of the result in the order in which they lie in memory
        product = buffers.view("products", [shape[a] for a in order]).transpose(np.argsort(order))
        yield from _rotate(
            [operand[..., half] for half in pair], [result[..., half] for half in pair], cos, sin, product
        )
        if rotated < features:
            yield partial(np.copyto, result[..., rotated:], operand[..., rotated:])

    emit_tiles(
        context,
        node,
        reads=(x, angles),
        out=out,
        tiles=[(slice(None),) * axis + (slice(*part),) for part in parts],
        index=lambda part: part,
        compute=compute,
        dtype=dtype,
        buffers={"products": most // features * (rotated // 2)},
    )
    return True


def _rotate(pair: Sequence[Array], result: Sequence[Array], cos: Array, sin: Array, product: Array) -> Iterator[Pass]:
    first, second = pair
    out_first, out_second = result
    yield partial(np.multiply, second, sin, product)
    yield partial(np.multiply, first, cos, out_first)
    yield partial(np.subtract, out_first, product, out_first)
    yield partial(np.multiply, first, sin, product)
    yield partial(np.multiply, second, cos, out_second)
    yield partial(np.add, out_second, product, out_second)


def _angles(
    context: LoweringContext, op: Any, length: int, rotated: int, dtype: np.dtype[Any], features_last: bool
) -> Slot:
    """Return cosines and sines as (2, length, pairs), or as (2, pairs, length) if features do not come last."""
    pairs = rotated // 2
    positions = np.arange(op.offset, op.offset + length)

    def load() -> Array:
        both = tables(op, rotated, positions)
        return np.stack([table if features_last else table.T for table in both]).astype(dtype)

    shape = (2, length, pairs) if features_last else (2, pairs, length)
    return context.constants.derived(shape, dtype, load, key=(repr(op), length, rotated, dtype, features_last))
