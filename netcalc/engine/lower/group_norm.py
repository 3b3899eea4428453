"""Normalisation by the statistics of groups of channels, or of single ones, of each sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from netcalc.engine.graph import Node
from netcalc.engine.lower.context import Lowering, lowering, wide_dtype
from netcalc.engine.lower.epilogue import Pass, sequence
from netcalc.engine.lower.norm import affine
from netcalc.engine.lower.tiling import across, along, long, strips
from netcalc.engine.step import Job, Scratch, Step
from netcalc.engine.storage import Slot
from netcalc.numerics.kernels import Array


@lowering("group_norm", "instance_norm")
def grouped(low: Lowering, node: Node) -> bool:
    """Pixels as rows of channels: sums of columns, centred rows and the sums of their squares, scaled rows."""
    op, source, result = node.op, node.inputs[0], node.outputs[0]
    assert source is not None
    rank = len(source.shape)
    if 0 in source.shape or rank < 3 or (op.name == "instance_norm" and not op.own_statistics(False)):
        return False
    batch, channels = source.shape[:2]
    groups = op.groups if op.name == "group_norm" else channels
    order = (0, *range(2, rank), 1)
    pixels = math.prod(source.shape[2:])
    work = wide_dtype(result.dtype)
    shape = (batch, pixels, channels)
    x = low.rows(node, low.wide(node, low.slot(source)), order).reshaped(shape)
    out = low.new(result, order).permuted(order).reshaped(shape)
    assert x is not None and out is not None
    y = out if out.dtype == work else low.room(shape, work)
    parts = strips(pixels, pixels * channels, replace(low.parallelism, threads=-(-low.parallelism.threads // batch)))
    jobs = [(image, number) for image in range(batch) for number in range(len(parts))]
    most = max(end - start for start, end in parts)
    ones = low.ones(most, work)
    weight, bias = (affine(low, node, name, channels) for name in ("weight", "bias"))
    sums, squares = (low.room((batch, len(parts), channels), work) for _ in range(2))
    each = pixels * (channels // groups)
    pattern: Scratch = ((long(channels, low.tuning) * channels,), work)

    def mean(totals: Slot, image: int) -> Array:
        return _means(totals.array()[image], groups, each)

    def add_up(index: int, arrays: Sequence[Array]) -> Job:
        image, number = jobs[index]
        rows = slice(*parts[number])
        seen = x.array()[image, rows]
        return sequence([partial(np.matmul, ones.array()[: len(seen)], seen, sums.array()[image, number])])

    def centre(index: int, arrays: Sequence[Array]) -> Job:
        image, number = jobs[index]
        rows = slice(*parts[number])
        seen, goal = x.array()[image, rows], y.array()[image, rows]
        square = arrays[1][: goal.size].reshape(goal.shape)
        passes: list[Pass] = [
            *along(np.subtract, seen, goal, lambda: mean(sums, image), arrays[0], low.tuning),
            partial(np.multiply, goal, goal, square),
            partial(np.matmul, ones.array()[: len(goal)], square, squares.array()[image, number]),
        ]
        return sequence(passes)

    def scale(index: int, arrays: Sequence[Array]) -> Job:
        image, number = jobs[index]
        rows = slice(*parts[number])
        seen, goal = y.array()[image, rows], out.array()[image, rows]

        def factor() -> Array:
            root: Array = 1 / np.sqrt(mean(squares, image) + work.type(op.eps))
            return root if weight is None else root * weight.array()

        passes: list[Pass] = list(along(np.multiply, seen, seen, factor, arrays[0], low.tuning))
        if bias is not None:
            passes.append(across(np.add, seen, bias.array(), low.tuning))
        if y is not out:
            passes.append(partial(np.copyto, goal, seen, casting="unsafe"))
        return sequence(passes)

    extra = [slot for slot in (weight, bias) if slot is not None]
    low.emit(Step(node, (x, ones), (sums,), len(jobs), add_up))
    low.emit(Step(node, (x, ones, sums), (y, squares), len(jobs), centre, [pattern, ((most * channels,), work)]))
    low.emit(Step(node, (y, squares, *extra), (y, out), len(jobs), scale, [pattern]))
    return True


def _means(totals: Array, groups: int, each: int) -> Array:
    """The mean of each group, for each of its channels, from (strips, channels) of sums over so many elements."""
    channels = totals.shape[1]
    by_group = np.add.reduce(totals.reshape(-1, groups, channels // groups), axis=(0, 2))
    return np.repeat(by_group / totals.dtype.type(each), channels // groups)
