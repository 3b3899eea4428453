"""Normalisation of rows by their own statistics, strip by strip while they are in the cache.

Sums are products with ones, and sums of squares products of a row with itself, which BLAS does faster than NumPy
reduces.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from netcalc.numerics.kernels import Array, wide
from netcalc.numerics.plan.epilogue import Pass, sequence
from netcalc.numerics.plan.graph import Node
from netcalc.numerics.plan.lowering import Lowering, lowering, wide_dtype
from netcalc.numerics.plan.step import Job, Scratch, Step
from netcalc.numerics.plan.storage import Slot
from netcalc.numerics.plan.strips import across, long, repeats, strips


@lowering("layer_norm", "rms_norm")
def normalised(low: Lowering, node: Node) -> bool:
    """Rows of the trailing axes: centred where the mean goes, divided by their root mean square, scaled, shifted."""
    op, source, result = node.op, node.inputs[0], node.outputs[0]
    assert source is not None
    if 0 in source.shape:
        return False
    centring = op.name == "layer_norm"
    width = math.prod(source.shape[-op.count :])
    x = low.rows(node, low.slot(source), range(len(source.shape)), -op.count)
    out = low.new(result).reshaped(x.shape)
    assert out is not None
    work = wide_dtype(result.dtype)
    eps = float(np.finfo(work).eps) if op.eps is None else op.eps
    ones = low.made((width,), work, lambda: np.ones(width, work))
    weight, bias = (_vector(low, node, name, width) for name in ("weight", "bias"))
    parts = strips(x.shape[0], x.elements, low.threads)
    most = max(end - start for start, end in parts)
    narrow = work != x.dtype
    scratch: list[Scratch] = [((most,), work), *([((most * width,), work)] if narrow else [])]

    def bind(index: int, arrays: Sequence[Array]) -> Job:
        rows = slice(*parts[index])
        seen, goal = x.array()[rows], out.array()[rows]
        y = arrays[1][: goal.size].reshape(goal.shape) if narrow else goal
        number = arrays[0][: len(goal)]
        column = number[:, None]
        passes: list[Pass] = []
        if narrow:
            passes.append(partial(np.copyto, y, seen))
            seen = y
        if centring:
            passes.append(partial(np.matmul, seen, ones.array(), number))
            passes.append(partial(np.divide, number, work.type(width), number))
            passes.append(partial(np.subtract, seen, column, y))
            seen = y
        passes.append(partial(np.matmul, seen[:, None, :], seen[:, :, None], number[:, None, None]))
        passes.append(partial(np.divide, number, work.type(width), number))
        passes += _root(number, eps)
        passes.append(partial(np.multiply, seen, column, y))
        if weight is not None:
            passes.append(across(np.multiply, y, weight.array()))
        if bias is not None:
            passes.append(across(np.add, y, bias.array()))
        if narrow:
            passes.append(partial(np.copyto, goal, y, casting="unsafe"))
        return sequence(passes)

    reads = [slot for slot in (x, ones, weight, bias) if slot is not None]
    low.emit(Step(node, reads, (out,), len(parts), bind, scratch))
    return True


def _vector(low: Lowering, node: Node, name: str, width: int) -> Slot | None:
    """A parameter as a row; None where there is none."""
    if low.param(node, name) is None:
        return None
    work = wide_dtype(node.outputs[0].dtype)
    offset = getattr(node.op, "offset", 0)

    def load() -> Array:
        values = wide(low.fetch(node, name)).reshape(-1)
        return values + work.type(offset) if offset else values

    return low.made((width,), work, load)


def _root(number: Array, eps: float) -> list[Pass]:
    """1/√(v + ε) in place."""
    return [
        partial(np.add, number, number.dtype.type(eps), number),
        partial(np.sqrt, number, number),
        partial(np.reciprocal, number, number),
    ]


def _along(
    ufunc: Callable[..., object], x: Array, y: Array, values: Callable[[], Array], scratch: Array
) -> Iterator[Pass]:
    """Passes that give ``y``, which is ``x`` with a number for each column that is known only then."""
    count, width = repeats(y), y.shape[1]
    pattern = scratch[: count * width]
    yield lambda: np.copyto(pattern.reshape(count, width), values())
    yield partial(ufunc, x.reshape(-1, count * width), pattern, y.reshape(-1, count * width))


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
    parts = strips(pixels, pixels * channels, -(-low.threads // batch))
    jobs = [(image, number) for image in range(batch) for number in range(len(parts))]
    most = max(end - start for start, end in parts)
    ones = low.made((most,), work, lambda: np.ones(most, work))
    weight, bias = (_vector(low, node, name, channels) for name in ("weight", "bias"))
    sums, squares = (low.room((batch, len(parts), channels), work) for _ in range(2))
    each = pixels * (channels // groups)
    pattern: Scratch = ((long(channels) * channels,), work)

    def mean(totals: Slot, image: int) -> Array:
        """The mean of each group, for each of its channels."""
        by_group = np.add.reduce(totals.array()[image].reshape(-1, groups, channels // groups), axis=(0, 2))
        return np.repeat(by_group / work.type(each), channels // groups)

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
            *_along(np.subtract, seen, goal, lambda: mean(sums, image), arrays[0]),
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

        passes: list[Pass] = list(_along(np.multiply, seen, seen, factor, arrays[0]))
        if bias is not None:
            passes.append(across(np.add, seen, bias.array()))
        if y is not out:
            passes.append(partial(np.copyto, goal, seen, casting="unsafe"))
        return sequence(passes)

    extra = [slot for slot in (weight, bias) if slot is not None]
    low.emit(Step(node, (x, ones), (sums,), len(jobs), add_up))
    low.emit(Step(node, (x, ones, sums), (y, squares), len(jobs), centre, [pattern, ((most * channels,), work)]))
    low.emit(Step(node, (y, squares, *extra), (y, out), len(jobs), scale, [pattern]))
    return True
