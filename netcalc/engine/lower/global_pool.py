"""Pooling over everything: means as products with ones, which BLAS does faster than NumPy reduces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from netcalc.engine.graph import Node
from netcalc.engine.lower.context import Lowering, lowering, wide_dtype
from netcalc.engine.lower.epilogue import Pass, sequence
from netcalc.engine.step import Job, Step, cuts
from netcalc.numerics.kernels import Array


@lowering("global_avg_pool1d", "global_avg_pool2d", "global_avg_pool3d")
def average(low: Lowering, node: Node) -> bool:
    """The mean of each channel."""
    return _pool(low, node, mean=True)


@lowering("global_max_pool1d", "global_max_pool2d", "global_max_pool3d")
def largest(low: Lowering, node: Node) -> bool:
    """The largest element of each channel."""
    return _pool(low, node, mean=False)


def _pool(low: Lowering, node: Node, mean: bool) -> bool:
    source, result = node.inputs[0], node.outputs[0]
    assert source is not None
    if 0 in source.shape:
        return False
    lead = len(source.shape) - node.op.axes - 1  # 1 with a batch, 0 without
    batch, channels = math.prod(source.shape[:lead]), source.shape[lead]
    pixels = math.prod(source.shape[lead + 1 :])
    work = wide_dtype(result.dtype)
    # pixels in order as they lie, or as rows of channels
    slot = low.wide(node, low.slot(source))
    x = slot.reshaped((batch, channels, pixels))
    if x is None or (pixels > 1 and x.strides[2] != work.itemsize):
        rows = low.rows(node, slot, (*range(lead), *range(lead + 1, len(source.shape)), lead))
        turned = rows.reshaped((batch, pixels, channels))
        assert turned is not None
        x = turned.permuted((0, 2, 1))
    out = low.new(result).reshaped((batch, channels))
    assert out is not None
    ones = low.ones(pixels, work)
    threads = low.parallelism.pass_jobs(x.elements)
    by_image = cuts(batch, threads)
    jobs = [(i, c) for i in by_image for c in cuts(channels, -(-threads // len(by_image)))]
    narrow = out.dtype != work

    def bind(index: int, arrays: Sequence[Array]) -> Job:
        part = tuple(slice(*ends) for ends in jobs[index])
        seen, goal = x.array()[part], out.array()[part]
        y = arrays[0][: goal.size].reshape(goal.shape) if narrow else goal
        passes: list[Pass] = [partial(np.maximum.reduce, seen, axis=2, out=y)]
        if mean and not low.tuning.product_pooling:
            passes = [partial(np.add.reduce, seen, axis=2, out=y), partial(np.divide, y, work.type(pixels), y)]
        elif mean:
            passes = [partial(np.matmul, seen, ones.array(), y), partial(np.divide, y, work.type(pixels), y)]
        if narrow:
            passes.append(partial(np.copyto, goal, y, casting="unsafe"))
        return sequence(passes)

    low.emit(Step(node, (x, ones), (out,), len(jobs), bind, [((batch * channels,), work)] if narrow else []))
    return True
