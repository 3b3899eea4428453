"""Rows of a table by ids, written straight to their places."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.emission import compute_dtype
from netcalc.engine.lower.fallback import locate_errors
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.registry import lowering
from netcalc.engine.lower.tiling import emit_tiles
from netcalc.engine.step import Buffers, cuts
from netcalc.numerics.kernels import Array
from netcalc.numerics.kernels.embed import checked


@lowering("embedding")
def lower_embedding(context: LoweringContext, node: GraphNode) -> bool:
    """Emit the row of each id."""
    op, ids, result = node.op, node.inputs[0], node.outputs[0]
    assert ids is not None
    if op.max_norm is not None or 0 in result.shape:
        return False
    table, width = context.constants.parameter(node, "weight"), op.embedding_dim
    slot = context.layout.slot(ids)
    flat = slot.reshaped((slot.elements,)) or context.emit.copy(node, slot).reshaped((slot.elements,))
    out = context.layout.allocate(result).reshaped((slot.elements, width))
    assert flat is not None and out is not None
    tiles = [slice(*part) for part in cuts(slot.elements, context.parallelism.pass_jobs(out.elements))]
    most = max(tile.stop - tile.start for tile in tiles) * width
    dtype = compute_dtype(result.dtype)

    def check(values: Array) -> None:
        with locate_errors(node):
            checked(values, op.num_embeddings, "num_embeddings")

    def compute(tile: slice, result: Array, buffers: Buffers) -> Iterator[Pass]:
        values = flat.array()
        yield partial(check, values)
        # other modes than "clip" buffer the rows that they take
        yield partial(np.take, table.array(), values[tile], axis=0, out=result, mode="clip")
        if op.scale is not None:
            scaled = buffers.view("scaled", result.shape)
            yield partial(np.copyto, scaled, result)
            yield partial(np.multiply, scaled, dtype.type(op.scale), scaled)
            yield partial(np.copyto, result, scaled, casting="unsafe")

    emit_tiles(
        context,
        node,
        reads=(flat, table),
        out=out,
        tiles=tiles,
        index=lambda tile: (tile,),
        compute=compute,
        dtype=out.dtype,
        buffers={"scaled": (most, dtype)} if op.scale is not None else {},
    )
    return True
