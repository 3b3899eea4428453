"""Rotary embeddings: pairs of features turned by angles that are known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from netcalc.engine.graph import Node
from netcalc.engine.lower.context import Lowering, lowering, wide_dtype
from netcalc.engine.lower.conv.geometry import shaped
from netcalc.engine.lower.epilogue import Pass, sequence
from netcalc.engine.lower.tiling import strips
from netcalc.engine.step import Job, Scratch, Step
from netcalc.numerics.kernels import Array
from netcalc.numerics.kernels.rotary import halves, tables


@lowering("rotary_embedding")
def rotary(low: Lowering, node: Node) -> bool:
    """The axes stay in the order in which they lie; positions that are an input are left to the kernel."""
    op, source, result = node.op, node.inputs[0], node.outputs[0]
    assert source is not None
    if any(node.inputs[1:]) or 0 in source.shape:
        return False
    length, features = source.shape[-2:]
    turned = features if op.rotary_dim is None else op.rotary_dim
    half = turned // 2
    slot = low.slot(source)
    rank, work = len(source.shape), wide_dtype(result.dtype)
    order = tuple(range(rank)) if 0 in slot.strides else slot.order
    x, out = low.wide(node, slot), low.new(result, order)
    axis = next((a for a in order if a != rank - 1 and source.shape[a] > 1), 0)
    parts = strips(source.shape[axis], x.elements, low.parallelism)
    room = max(end - start for start, end in parts) * x.elements // source.shape[axis]
    narrow = work != out.dtype
    scratch: list[Scratch] = [((room // features * half,), work), *([((room,), work)] if narrow else [])]
    places = np.arange(op.offset, op.offset + length)
    features_last = order.index(rank - 1) > order.index(rank - 2)
    both = low.made(
        (2, length, half) if features_last else (2, half, length),
        work,
        lambda: np.stack([t if features_last else t.T for t in tables(op, turned, places)]).astype(work),
        key=(repr(op), length, turned, work, features_last),
    )

    def bind(index: int, arrays: Sequence[Array]) -> Job:
        part = (slice(None),) * axis + (slice(*parts[index]),)
        seen, goal = x.array()[part], out.array()[part]
        y = shaped(arrays[1], goal.shape) if narrow else goal
        cos, sin = both.array() if features_last else both.array().swapaxes(1, 2)
        if axis == rank - 2:
            cos, sin = cos[slice(*parts[index])], sin[slice(*parts[index])]
        first, second = halves(op, turned)
        a, b, c, d = seen[..., first], seen[..., second], y[..., first], y[..., second]
        spare = shaped(arrays[0], [a.shape[n] for n in order]).transpose(np.argsort(order))  # in memory as the result
        passes: list[Pass] = [
            partial(np.multiply, b, sin, spare),
            partial(np.multiply, a, cos, c),
            partial(np.subtract, c, spare, c),
            partial(np.multiply, a, sin, spare),
            partial(np.multiply, b, cos, d),
            partial(np.add, d, spare, d),
        ]
        if turned < features:
            passes.append(partial(np.copyto, y[..., turned:], seen[..., turned:]))
        if narrow:
            passes.append(partial(np.copyto, goal, y, casting="unsafe"))
        return sequence(passes)

    low.emit(Step(node, (x, both), (out,), len(parts), bind, scratch))
    return True
