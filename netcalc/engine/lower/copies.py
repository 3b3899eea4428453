"""Operations that move elements without changing them: concatenation, padding, rolling, shuffling."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate, product
from typing import TypeAlias

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.passes import Pass, Passes
from netcalc.engine.lower.registry import lowering
from netcalc.engine.lower.tiling import emit_jobs
from netcalc.engine.step import Buffers, Job, cuts
from netcalc.engine.storage import Slot

#: (target, origin) of a copy.
Move: TypeAlias = tuple[Slot, Slot]


@lowering("concat")
def lower_concat(context: LoweringContext, node: GraphNode) -> bool:
    """Emit the copies of tensors end to end along an axis."""
    return _join(context, node, [context.layout.slot(t) for t in node.inputs if t is not None])


@lowering("stack")
def lower_stack(context: LoweringContext, node: GraphNode) -> bool:
    """Emit the copies of tensors side by side along a new axis."""
    axis, layout = node.op.axis % len(node.outputs[0].shape), context.layout
    slots = [layout.slot(t).reshaped((*t.shape[:axis], 1, *t.shape[axis:])) for t in node.inputs if t is not None]
    return _join(context, node, [slot for slot in slots if slot is not None])


def _join(context: LoweringContext, node: GraphNode, slots: Sequence[Slot]) -> bool:
    if all(context.layout.is_constant(slot) for slot in slots):
        return False  # the kernel runs once
    axis = node.op.axis % len(node.outputs[0].shape)
    largest = max(slots, key=lambda slot: (0 not in slot.strides, slot.elements))
    out = context.joins.whole(node, _order(largest))
    starts = accumulate((slot.shape[axis] for slot in slots), initial=0)
    places = [out.part(axis, start, slot.shape[axis]) for start, slot in zip(starts, slots, strict=False)]
    moves = [(place, slot) for place, slot in zip(places, slots, strict=True) if place != slot]
    if moves:
        _emit(context, node, out, moves)
    return True


@lowering("pad")
def lower_pad(context: LoweringContext, node: GraphNode) -> bool:
    """Emit a copy and constant edges; a view if the padding only crops."""
    op, operand, result = node.op, node.operand, node.outputs[0]
    inner = context.layout.slot(operand)
    if op.mode != "constant" or 0 in operand.shape:
        return False
    places = [(0, size) for size in operand.shape]  # (start, size) of what remains of the operand, in the result
    for axis, (before, after) in op.pads(len(operand.shape)).items():
        size = operand.shape[axis]
        start, end = max(0, -before), min(size, size + after)
        if end <= start:
            return False
        inner = inner.part(axis, start, end - start)
        places[axis] = (start + before, end - start)
    if inner.shape == result.shape:
        context.layout.alias(result, inner)
        return True
    if context.layout.is_constant(inner):
        return False
    rest = out = _allocate(context, node, inner)
    edges = []
    for axis, (start, count) in enumerate(places):
        end = start + count
        edges += [rest.part(axis, 0, start), rest.part(axis, end, rest.shape[axis] - end)]
        rest = rest.part(axis, start, count)
    _emit(context, node, out, [(rest, inner)], [edge for edge in edges if edge.elements], op.value)
    return True


@lowering("roll")
def lower_roll(context: LoweringContext, node: GraphNode) -> bool:
    """Emit the copies of the two parts of each rolled axis."""
    op, operand = node.op, node.operand
    slot = context.layout.slot(operand)
    if op.axis is None or 0 in operand.shape or context.layout.is_constant(slot):
        return False
    shifts = dict.fromkeys(range(len(operand.shape)), 0)
    for axis, shift in zip(op.axis, op.shifts, strict=True):
        shifts[axis % len(shifts)] += shift
    out = _allocate(context, node, slot)
    parts = []  # of each axis: (start in the operand, start in the result, size)
    for axis, shift in shifts.items():
        size = operand.shape[axis]
        ahead = shift % size
        pair = [(0, ahead, size - ahead), (size - ahead, 0, ahead)]
        parts.append([part for part in pair if part[2]])
    moves = []
    for block in product(*parts):
        target, origin = out, slot
        for axis, (start, place, count) in enumerate(block):
            target, origin = target.part(axis, place, count), origin.part(axis, start, count)
        moves.append((target, origin))
    _emit(context, node, out, moves)
    return True


@lowering("channel_shuffle")
def lower_channel_shuffle(context: LoweringContext, node: GraphNode) -> bool:
    """Emit the copies that take channel i of group j to channel j of group i."""
    operand = node.operand
    if 0 in operand.shape:
        return False
    batch, channels, *sizes = operand.shape
    groups = node.op.groups
    share = channels // groups
    slot = context.layout.slot(operand)
    out = _allocate(context, node, slot)
    target, origin = out.reshaped((batch, share, groups, *sizes)), slot.reshaped((batch, groups, share, *sizes))
    assert target is not None and origin is not None
    if groups < share:
        moves = [(target.part(2, j, 1).without(2), origin.part(1, j, 1).without(1)) for j in range(groups)]
    else:
        moves = [(target.part(1, i, 1).without(1), origin.part(2, i, 1).without(2)) for i in range(share)]
    _emit(context, node, out, moves)
    return True


def _allocate(context: LoweringContext, node: GraphNode, slot: Slot) -> Slot:
    """Allocate the result with the axes in the order of ``slot``."""
    return context.layout.allocate(node.outputs[0], _order(slot))


def _order(slot: Slot) -> tuple[int, ...] | None:
    """Return the order of the axes of a slot, None if it is broadcast along some."""
    return None if 0 in slot.strides else slot.order


def _emit(
    context: LoweringContext,
    node: GraphNode,
    out: Slot,
    moves: Sequence[Move],
    edges: Sequence[Slot] = (),
    value: float = 0,
) -> None:
    """Emit a step that copies, and fills the edges; the jobs share each copy and each edge."""
    jobs = context.parallelism.pass_jobs(out.elements)

    def share(job: int, *slots: Slot) -> list[Array] | None:
        """Return the job's part of the slots, cut along the outermost axis; None if it has none."""
        axis = next((axis for axis in slots[0].order if slots[0].shape[axis] > 1), None)
        parts = [(0, 1)] if axis is None else cuts(slots[0].shape[axis], jobs)
        if job >= len(parts):
            return None
        start, end = parts[job]
        return [(slot if axis is None else slot.part(axis, start, end - start)).array() for slot in slots]

    def bind(job: int, buffers: Buffers) -> Job:
        passes: list[Pass] = []
        for edge in edges:
            if part := share(job, edge):
                passes.append(partial(part[0].fill, value))
        for move in moves:
            if part := share(job, *move):
                passes.append(partial(np.copyto, part[0], part[1], casting="unsafe"))
        return Passes(passes)

    emit_jobs(context, node, reads=[origin for _, origin in moves], writes=(out,), jobs=range(jobs), bind=bind)
