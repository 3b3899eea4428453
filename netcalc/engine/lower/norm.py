"""Normalisation of the vectors along the last axes by their own statistics, while they are in the cache.

Sums are products with ones, and sums of squares products of a row with itself, which BLAS does faster than NumPy
reduces.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from netcalc.engine.graph import Node
from netcalc.engine.lower.context import Lowering, lowering, wide_dtype
from netcalc.engine.lower.epilogue import Pass, sequence
from netcalc.engine.lower.tiling import across, along, long, strips
from netcalc.engine.step import Job, Scratch, Step, cuts
from netcalc.engine.storage import Slot
from netcalc.numerics.kernels import Array, wide

__all__ = ["affine"]


@lowering("layer_norm", "rms_norm")
def normalised(low: Lowering, node: Node) -> bool:
    """Centred, where the mean goes; divided by their root mean square, scaled, shifted.

    Vectors that lie as the columns of a matrix, as products of few rows leave them, stay so.
    """
    source, result = node.inputs[0], node.outputs[0]
    assert source is not None
    if 0 in source.shape:
        return False
    rank, count = len(source.shape), node.op.count
    slot = low.slot(source)
    width = math.prod(source.shape[-count:])
    shape = (slot.elements // width, width)
    turned = (*range(rank - count, rank), *range(rank - count))
    columns = slot.permuted(turned).reshaped(shape[::-1])
    if min(shape) > 1 and columns is not None and columns.strides[1] == slot.dtype.itemsize:
        out = low.new(result, turned).permuted(turned).reshaped(shape[::-1])
        assert out is not None
        _emit_columns(low, node, columns, out)
    else:
        out = low.new(result).reshaped(shape)
        assert out is not None
        _emit_rows(low, node, low.rows(node, slot, range(rank), -count), out)
    return True


def _emit_rows(low: Lowering, node: Node, x: Slot, out: Slot) -> None:
    width = x.shape[1]
    work = wide_dtype(x.dtype)
    ones = low.ones(width, work)
    weight, bias = (affine(low, node, name, width) for name in ("weight", "bias"))
    parts = strips(x.shape[0], x.elements, low.parallelism)
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
        if node.op.name == "layer_norm":
            passes.append(partial(np.matmul, seen, ones.array(), number))
            passes.append(partial(np.divide, number, work.type(width), number))
            passes.append(partial(np.subtract, seen, column, y))
            seen = y
        passes.append(partial(np.matmul, seen[:, None, :], seen[:, :, None], number[:, None, None]))
        passes += _reciprocal_root(node, number, width)
        passes.append(partial(np.multiply, seen, column, y))
        passes += [across(np.multiply, y, weight.array(), low.tuning)] if weight is not None else []
        passes += [across(np.add, y, bias.array(), low.tuning)] if bias is not None else []
        passes += [partial(np.copyto, goal, y, casting="unsafe")] if narrow else []
        return sequence(passes)

    reads = [slot for slot in (x, ones, weight, bias) if slot is not None]
    low.emit(Step(node, reads, (out,), len(parts), bind, scratch))


def _emit_columns(low: Lowering, node: Node, x: Slot, out: Slot) -> None:
    width, count = x.shape
    work = wide_dtype(x.dtype)
    ones = low.ones(width, work)
    weight, bias = (affine(low, node, name, width) for name in ("weight", "bias"))
    wanted = max(low.parallelism.pass_jobs(x.elements), -(-x.elements // low.tuning.norm_column_elements))
    parts = cuts(count, min(wanted, count // low.tuning.norm_columns))
    most = max(end - start for start, end in parts)
    own = work != x.dtype or len(parts) > 1  # some columns of many are no long runs of bytes
    scratch: list[Scratch] = [((most,), work), ((long(most, low.tuning) * most,), work), ((width * most,), work)]
    scratch += [((width * most,), work)] if own else []

    def bind(index: int, arrays: Sequence[Array]) -> Job:
        columns = slice(*parts[index])
        seen, goal = x.array()[:, columns], out.array()[:, columns]
        number = arrays[0][: goal.shape[1]]
        square, *rest = (array[: goal.size].reshape(goal.shape) for array in arrays[2:])
        y = rest[0] if own else goal
        last = goal if goal.dtype == work else y
        passes: list[Pass] = []
        if seen.dtype != work:
            passes.append(partial(np.copyto, y, seen))
            seen = y
        if node.op.name == "layer_norm":
            passes.append(partial(np.matmul, ones.array(), seen, number))
            passes.append(partial(np.divide, number, work.type(width), number))
            passes += along(np.subtract, seen, y, lambda: number, arrays[1], low.tuning)
            seen = y
        passes.append(partial(np.multiply, seen, seen, square))
        passes.append(partial(np.matmul, ones.array(), square, number))
        passes += _reciprocal_root(node, number, width)
        passes += along(np.multiply, seen, y, lambda: number, arrays[1], low.tuning)
        for ufunc, vector in ((np.multiply, weight), (np.add, bias)):
            if vector is not None:
                passes.append(partial(ufunc, y, vector.array()[:, None], last))
                y = last
        if y is not goal:
            passes.append(partial(np.copyto, goal, y, casting="unsafe"))
        return sequence(passes)

    reads = [slot for slot in (x, ones, weight, bias) if slot is not None]
    low.emit(Step(node, reads, (out,), len(parts), bind, scratch))


def _reciprocal_root(node: Node, number: Array, width: int) -> list[Pass]:
    """1/√(s/width + ε) of sums of squares, in place."""
    kind = number.dtype.type
    eps = np.finfo(number.dtype).eps if node.op.eps is None else node.op.eps
    return [
        partial(np.divide, number, kind(width), number),
        partial(np.add, number, kind(eps), number),
        partial(np.sqrt, number, number),
        partial(np.reciprocal, number, number),
    ]


def affine(low: Lowering, node: Node, name: str, width: int) -> Slot | None:
    """A weight or bias as a vector in the type of the arithmetic; None where there is none."""
    if low.param(node, name) is None:
        return None
    work = wide_dtype(node.outputs[0].dtype)
    offset = getattr(node.op, "offset", 0)

    def load() -> Array:
        values = wide(low.fetch(node, name)).reshape(-1)
        return values + work.type(offset) if offset else values

    return low.made((width,), work, load)
