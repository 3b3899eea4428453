"""Tensors joined into one, each copied once to its place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate

import numpy as np

from netcalc.numerics.kernels import Array
from netcalc.numerics.plan.epilogue import sequence
from netcalc.numerics.plan.graph import Node
from netcalc.numerics.plan.lowering import Lowering, lowering
from netcalc.numerics.plan.step import Job, Step, cuts
from netcalc.numerics.plan.storage import Slot

#: Elements from which on they are shared among threads.
_SHARED = 1 << 15


@lowering("concat")
def joined(low: Lowering, node: Node) -> bool:
    """End to end along an axis."""
    slots = [low.slot(t) for t in node.inputs if t is not None]
    _emit(low, node, slots, node.op.axis % len(node.outputs[0].shape))
    return True


@lowering("stack")
def stacked(low: Lowering, node: Node) -> bool:
    """Side by side along a new axis."""
    axis = node.op.axis % len(node.outputs[0].shape)
    slots = []
    for tensor in node.inputs:
        assert tensor is not None
        slot = low.slot(tensor).reshaped((*tensor.shape[:axis], 1, *tensor.shape[axis:]))
        assert slot is not None
        slots.append(slot)
    _emit(low, node, slots, axis)
    return True


def _emit(low: Lowering, node: Node, slots: Sequence[Slot], axis: int) -> None:
    """A step that copies tensors one after the other, the axes in the order that the largest of them has."""
    largest = max((slot for slot in slots if 0 not in slot.strides), key=lambda slot: slot.elements, default=None)
    out = low.new(node.outputs[0], None if largest is None else largest.order)
    *starts, _ = accumulate((slot.shape[axis] for slot in slots), initial=0)
    # along which axis the threads share the work
    outer = next((a for a in out.order if a != axis and out.shape[a] >= low.threads), None)
    shares = [(0, 1)] if outer is None else cuts(out.shape[outer], low.threads if out.elements >= _SHARED else 1)

    def bind(index: int, arrays: Sequence[Array]) -> Job:
        goal, sources = out.array(), [slot.array() for slot in slots]
        if outer is not None:
            part = (slice(None),) * outer + (slice(*shares[index]),)
            goal, sources = goal[part], [source[part] for source in sources]
        along = (slice(None),) * axis
        places = [goal[*along, start : start + s.shape[axis]] for start, s in zip(starts, sources, strict=True)]
        copies = zip(places, sources, strict=True)
        return sequence([partial(np.copyto, place, source, casting="unsafe") for place, source in copies])

    low.emit(Step(node, slots, (out,), len(shares), bind))
