"""Softmax along an axis, strip by strip and in place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from netcalc.engine.graph import Node
from netcalc.engine.lower.context import Lowering, lowering, wide_dtype
from netcalc.engine.lower.epilogue import Pass, sequence
from netcalc.engine.lower.tiling import strips
from netcalc.engine.step import Job, Scratch, Step
from netcalc.numerics.kernels import Array


@lowering("softmax", "log_softmax")
def softmax(low: Lowering, node: Node) -> bool:
    """Powers of what is left without the largest, over their sum; or that less the sum's logarithm."""
    source, result = node.inputs[0], node.outputs[0]
    assert source is not None
    if not source.shape or 0 in source.shape:
        return False
    logarithm = node.op.name == "log_softmax"
    work = wide_dtype(result.dtype)
    axis = node.op.axis % len(source.shape)
    length, inner = source.shape[axis], math.prod(source.shape[axis + 1 :])
    shape = (math.prod(source.shape[:axis]), length, inner)
    slot = low.slot(source)
    x = slot.reshaped(shape) or low.copied(node, slot).reshaped(shape)
    out = low.new(result).reshaped(shape)
    assert x is not None and out is not None
    ones = low.ones(length, work)
    along = 0 if shape[0] >= low.parallelism.threads or shape[0] >= inner else 2  # the axis that is cut
    parts = strips(shape[along], x.elements, low.parallelism)
    most = max(end - start for start, end in parts)
    columns, room = most * x.elements // (length * shape[along]), most * x.elements // shape[along]
    narrow = work != x.dtype
    scratch: list[Scratch] = [((columns,), work), *[((room,), work)] * (logarithm + narrow)]

    def bind(index: int, arrays: Sequence[Array]) -> Job:
        part = (slice(None),) * along + (slice(*parts[index]),)
        seen, goal = x.array()[part], out.array()[part]
        y = arrays[-1][: goal.size].reshape(goal.shape) if narrow else goal
        powers = arrays[1][: goal.size].reshape(goal.shape) if logarithm else y
        number = arrays[0][: len(goal) * goal.shape[2]].reshape(len(goal), 1, goal.shape[2])
        passes: list[Pass] = []
        if narrow:
            passes.append(partial(np.copyto, y, seen))
            seen = y
        passes.append(partial(np.maximum.reduce, seen, axis=1, keepdims=True, out=number))
        passes.append(partial(np.subtract, seen, number, y))
        passes.append(partial(np.exp, y, powers))
        if inner == 1:  # rows lie in order
            passes.append(partial(np.matmul, powers[:, :, 0], ones.array(), number[:, 0, 0]))
        else:
            passes.append(partial(np.matmul, ones.array(), powers, number[:, 0]))
        if logarithm:
            passes += [partial(np.log, number, number), partial(np.subtract, y, number, y)]
        else:
            passes += [partial(np.reciprocal, number, number), partial(np.multiply, y, number, y)]
        if narrow:
            passes.append(partial(np.copyto, goal, y, casting="unsafe"))
        return sequence(passes)

    low.emit(Step(node, (x, ones), (out,), len(parts), bind, scratch))
    return True
