"""Rows of a table by ids, straight to their places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netcalc.engine.graph import Node
from netcalc.engine.lower.context import Lowering, lowering, wide_dtype
from netcalc.engine.lower.fallback import blaming
from netcalc.engine.step import Job, Scratch, Step, cuts
from netcalc.numerics.kernels import Array
from netcalc.numerics.kernels.embed import checked


@lowering("embedding")
def embedding(low: Lowering, node: Node) -> bool:
    """The row of each id."""
    op, ids, result = node.op, node.inputs[0], node.outputs[0]
    assert ids is not None
    if op.max_norm is not None or 0 in result.shape:
        return False
    table, width = low.stored(node, "weight"), op.embedding_dim
    slot = low.slot(ids)
    places = slot.reshaped((slot.elements,)) or low.copied(node, slot).reshaped((slot.elements,))
    out = low.new(result).reshaped((slot.elements, width))
    assert places is not None and out is not None
    shares = cuts(slot.elements, low.parallelism.pass_jobs(out.elements))

    factor = wide_dtype(result.dtype).type(1 if op.scale is None else op.scale)
    scaled = op.scale is not None
    most = max(end - start for start, end in shares) * width

    def bind(index: int, arrays: Sequence[Array]) -> Job:
        part = slice(*shares[index])
        seen, rows, goal = places.array(), table.array(), out.array()[part]
        wide = arrays[0][: goal.size].reshape(goal.shape) if scaled else goal

        def job() -> None:
            with blaming(node):
                checked(seen, op.num_embeddings, "num_embeddings")
            np.take(rows, seen[part], axis=0, out=goal, mode="clip")  # other modes buffer what they take
            if scaled:
                np.copyto(wide, goal)
                np.multiply(wide, factor, wide)
                np.copyto(goal, wide, casting="unsafe")

        return job

    scratch: list[Scratch] = [((most,), factor.dtype)] if scaled else []
    low.emit(Step(node, (places, table), (out,), len(shares), bind, scratch))
    return True
