"""Elements that go to other places, unchanged: joined, padded, rolled, shuffled."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate, product
from typing import TypeAlias

import numpy as np

from netcalc.engine.graph import Node
from netcalc.engine.lower.context import Lowering, lowering
from netcalc.engine.lower.epilogue import Pass, sequence
from netcalc.engine.step import Job, Step, cuts
from netcalc.engine.storage import Slot
from netcalc.numerics.kernels import Array

#: Where elements go, and where they come from.
Move: TypeAlias = tuple[Slot, Slot]


@lowering("concat")
def joined(low: Lowering, node: Node) -> bool:
    """End to end along an axis."""
    return _join(low, node, [low.slot(t) for t in node.inputs if t is not None])


@lowering("stack")
def stacked(low: Lowering, node: Node) -> bool:
    """Side by side along a new axis."""
    axis = node.op.axis % len(node.outputs[0].shape)
    slots = [low.slot(t).reshaped((*t.shape[:axis], 1, *t.shape[axis:])) for t in node.inputs if t is not None]
    return _join(low, node, [slot for slot in slots if slot is not None])


def _join(low: Lowering, node: Node, slots: Sequence[Slot]) -> bool:
    if all(slot.store in low.fixed for slot in slots):
        return False  # done once, by the kernel
    axis = node.op.axis % len(node.outputs[0].shape)
    out = _room(low, node, max(slots, key=lambda slot: (0 not in slot.strides, slot.elements)))
    starts = accumulate((slot.shape[axis] for slot in slots), initial=0)
    moves = [(out.part(axis, start, slot.shape[axis]), slot) for start, slot in zip(starts, slots, strict=False)]
    _emit(low, node, out, moves)
    return True


@lowering("pad")
def padded(low: Lowering, node: Node) -> bool:
    """A constant before and after; without it, a part."""
    op, source, result = node.op, node.inputs[0], node.outputs[0]
    assert source is not None
    inner = low.slot(source)
    if op.mode != "constant" or 0 in source.shape:
        return False
    places = [(0, size) for size in source.shape]  # what is kept, by its place in the result
    for axis, (before, after) in op.pads(len(source.shape)).items():
        size = source.shape[axis]
        start, end = max(0, -before), min(size, size + after)
        if end <= start:
            return False
        inner = inner.part(axis, start, end - start)
        places[axis] = (start + before, end - start)
    if inner.shape == result.shape:
        low.place(result, inner)
        return True
    if inner.store in low.fixed:
        return False
    rest = out = _room(low, node, inner)
    edges = []
    for axis, (start, count) in enumerate(places):
        end = start + count
        edges += [rest.part(axis, 0, start), rest.part(axis, end, rest.shape[axis] - end)]
        rest = rest.part(axis, start, count)
    _emit(low, node, out, [(rest, inner)], [edge for edge in edges if edge.elements], op.value)
    return True


@lowering("roll")
def rolled(low: Lowering, node: Node) -> bool:
    """What leaves at one end comes in at the other."""
    op, source = node.op, node.inputs[0]
    assert source is not None
    slot = low.slot(source)
    if op.axis is None or 0 in source.shape or slot.store in low.fixed:
        return False
    shifts = dict.fromkeys(range(len(source.shape)), 0)
    for axis, shift in zip(op.axis, op.shifts, strict=True):
        shifts[axis % len(shifts)] += shift
    out = _room(low, node, slot)
    halves = []  # of each axis: (from, to, how many)
    for axis, shift in shifts.items():
        size = source.shape[axis]
        ahead = shift % size
        pair = [(0, ahead, size - ahead), (size - ahead, 0, ahead)]
        halves.append([half for half in pair if half[2]])
    moves = []
    for block in product(*halves):
        goal, seen = out, slot
        for axis, (start, place, count) in enumerate(block):
            goal, seen = goal.part(axis, place, count), seen.part(axis, start, count)
        moves.append((goal, seen))
    _emit(low, node, out, moves)
    return True


@lowering("channel_shuffle")
def shuffled(low: Lowering, node: Node) -> bool:
    """Channel i of group j becomes channel j of group i."""
    source = node.inputs[0]
    assert source is not None
    if 0 in source.shape:
        return False
    batch, channels, *sizes = source.shape
    groups = node.op.groups
    share = channels // groups
    slot = low.slot(source)
    out = _room(low, node, slot)
    goal, seen = out.reshaped((batch, share, groups, *sizes)), slot.reshaped((batch, groups, share, *sizes))
    assert goal is not None and seen is not None
    if groups < share:
        moves = [(goal.part(2, j, 1).without(2), seen.part(1, j, 1).without(1)) for j in range(groups)]
    else:
        moves = [(goal.part(1, i, 1).without(1), seen.part(2, i, 1).without(2)) for i in range(share)]
    _emit(low, node, out, moves)
    return True


def _room(low: Lowering, node: Node, slot: Slot) -> Slot:
    """A place for the result, its axes in the order that a tensor's have, unless that is repeated along some."""
    return low.new(node.outputs[0], None if 0 in slot.strides else slot.order)


def _emit(
    low: Lowering, node: Node, out: Slot, moves: Sequence[Move], edges: Sequence[Slot] = (), value: float = 0
) -> None:
    """A step that copies, and fills the edges; threads share each of them."""
    jobs = low.parallelism.pass_jobs(out.elements)

    def share(index: int, *slots: Slot) -> list[Array] | None:
        """The arrays of a thread's part, cut along the outermost axis."""
        axis = next((axis for axis in slots[0].order if slots[0].shape[axis] > 1), None)
        parts = [(0, 1)] if axis is None else cuts(slots[0].shape[axis], jobs)
        if index >= len(parts):
            return None
        start, end = parts[index]
        return [(slot if axis is None else slot.part(axis, start, end - start)).array() for slot in slots]

    def bind(index: int, arrays: Sequence[Array]) -> Job:
        passes: list[Pass] = []
        for edge in edges:
            if part := share(index, edge):
                passes.append(partial(part[0].fill, value))
        for move in moves:
            if part := share(index, *move):
                passes.append(partial(np.copyto, part[0], part[1], casting="unsafe"))
        return sequence(passes)

    low.emit(Step(node, [seen for _, seen in moves], (out,), jobs, bind))
