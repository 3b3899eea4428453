"""Arithmetic element by element that follows no product."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from netcalc.engine.fuse import COMBINING, NORMALISING, UNARY, is_elementwise
from netcalc.engine.graph import Node
from netcalc.engine.lower.context import Lowering, lowering, wide_dtype
from netcalc.engine.lower.epilogue import UFUNCS, Epilogue, Pass, sequence
from netcalc.engine.lower.tiling import strips
from netcalc.engine.step import Job, Scratch, Step
from netcalc.engine.storage import Slot, is_dense
from netcalc.numerics.kernels import Array


@lowering(*COMBINING)
def combined(low: Lowering, node: Node) -> bool:
    """Two tensors, of one shape or broadcast, or a tensor and a number."""
    if is_elementwise(node):
        return _alike(low, node) if len({t.shape for t in node.inputs if t is not None}) == 1 else _broadcast(low, node)
    return False


@lowering(*NORMALISING, *UNARY)
def applied(low: Lowering, node: Node) -> bool:
    """A function of each element, or a scale and a shift for each channel."""
    return is_elementwise(node) and _alike(low, node)


def _alike(low: Lowering, node: Node) -> bool:
    """All tensors have one shape: the first is copied strip by strip, and the rest happens in place."""
    source, result = node.inputs[0], node.result
    assert source is not None
    if not source.shape or 0 in source.shape:
        return False
    stages = [node, *node.after]
    slot = low.slot(source)
    rank = len(source.shape)
    order = slot.order
    if any(stage.op.name in NORMALISING for stage in stages):
        order = (0, *range(2, rank), 1)
    elif not is_dense(slot, order):
        order = tuple(range(rank))
    x = low.rows(node, slot, order)
    epilogue = Epilogue(low, node, source, stages, order)
    out = low.new(result, order)
    rows = out.permuted(order).reshaped(x.shape)
    assert rows is not None
    emit_rows(low, node, x, rows, epilogue)
    return True


def emit_rows(low: Lowering, node: Node, x: Slot, out: Slot, epilogue: Epilogue) -> None:
    """A step that copies rows and does the rest to them in place, strip by strip."""
    height, width = x.shape
    work = wide_dtype(out.dtype)
    narrow = work != out.dtype
    parts = strips(height, x.elements, low.parallelism)
    most = max(end - start for start, end in parts)
    own = len(epilogue.scratch)
    scratch: list[Scratch] = [*epilogue.scratch, *([((most * width,), work)] if narrow else [])]

    def bind(index: int, arrays: Sequence[Array]) -> Job:
        rows = slice(*parts[index])
        goal = out.array()[rows]
        y = arrays[own][: goal.size].reshape(goal.shape) if narrow else goal
        passes: list[Pass] = [partial(np.copyto, y, x.array()[rows])]
        return epilogue.finish(passes, y, goal, rows, slice(0, width), arrays)

    low.emit(Step(node, (x, *epilogue.reads), (out,), len(parts), bind, scratch))


def _broadcast(low: Lowering, node: Node) -> bool:
    """Two tensors of which one is repeated along some axes."""
    first, second = (t for t in node.inputs if t is not None)
    result = node.result
    if wide_dtype(result.dtype) != result.dtype or not result.shape or 0 in result.shape:
        return False
    full = next((t for t in (first, second) if t.shape == result.shape), None)
    order = tuple(range(len(result.shape))) if full is None else low.slot(full).order
    if any(stage.op.name in NORMALISING for stage in node.after):
        order = (0, *range(2, len(order)), 1)
    one, other = (low.slot(t).expanded(result.shape).permuted(order) for t in (first, second))
    epilogue = Epilogue(low, node, node.outputs[0], node.after, order)
    out = low.new(result, order).permuted(order)
    axis = next((axis for axis, size in enumerate(out.shape) if size > 1), 0)
    inner = out.elements // out.shape[axis]
    rows = out.reshaped((out.elements // out.shape[-1], out.shape[-1]))
    assert rows is not None
    each = inner // out.shape[-1]  # rows to a place along the axis
    parts = (
        strips(out.shape[axis], out.elements, low.parallelism) if axis < len(out.shape) - 1 else [(0, out.shape[axis])]
    )
    ufunc = UFUNCS[node.op.name]
    turned = getattr(node.op, "reverse", False)

    def bind(index: int, arrays: Sequence[Array]) -> Job:
        start, end = parts[index]
        part = (slice(None),) * axis + (slice(start, end),)
        operands = [slot.array()[part] for slot in ((other, one) if turned else (one, other))]
        passes: list[Pass] = [partial(ufunc, *operands, out=out.array()[part])]
        place = slice(start * each, end * each) if axis < len(out.shape) - 1 else slice(0, 1)
        passes += epilogue.bind(rows.array()[place], place, slice(0, out.shape[-1]), arrays)
        return sequence(passes)

    low.emit(Step(node, (one, other, *epilogue.reads), (out,), len(parts), bind, epilogue.scratch))
    return True
