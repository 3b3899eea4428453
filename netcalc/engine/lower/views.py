"""Operations that only look at the same elements otherwise: shapes, orders of axes, parts, repetitions."""

from __future__ import annotations

from netcalc.engine.graph import Node, Tensor
from netcalc.engine.lower.context import Lowering, lowering


@lowering("reshape", "flatten", "unflatten", "squeeze", "unsqueeze")
def reshaped(low: Lowering, node: Node) -> bool:
    """Another shape, by a copy where the elements do not lie in order."""
    source, result = node.inputs[0], node.outputs[0]
    assert source is not None
    slot = low.slot(source)
    view = slot.reshaped(result.shape) or low.copied(node, slot).reshaped(result.shape)
    assert view is not None
    low.place(result, view)
    return True


@lowering("transpose")
def transposed(low: Lowering, node: Node) -> bool:
    """Two axes swapped."""
    slot = low.slot(_source(node))
    axes = list(range(len(slot.shape)))
    one, other = (axis % len(axes) for axis in node.op.axes)
    axes[one], axes[other] = other, one
    low.place(node.outputs[0], slot.permuted(axes))
    return True


@lowering("permute")
def permuted(low: Lowering, node: Node) -> bool:
    """All axes in another order."""
    slot = low.slot(_source(node))
    low.place(node.outputs[0], slot.permuted([axis % len(slot.shape) for axis in node.op.axes]))
    return True


@lowering("select")
def selected(low: Lowering, node: Node) -> bool:
    """One place along an axis."""
    slot = low.slot(_source(node))
    axis = node.op.axis % len(slot.shape)
    low.place(node.outputs[0], slot.part(axis, node.op.index % slot.shape[axis], 1).without(axis))
    return True


@lowering("slice")
def sliced(low: Lowering, node: Node) -> bool:
    """Ranges along axes."""
    slot = low.slot(_source(node))
    for axis, start, stop, step in node.op.ranges():
        places = range(slot.shape[axis])[start:stop:step]
        slot = slot.part(axis % len(slot.shape), places.start, len(places), step)
    low.place(node.outputs[0], slot)
    return True


@lowering("chunk", "split")
def divided(low: Lowering, node: Node) -> bool:
    """Parts along an axis, one after the other."""
    slot, start = low.slot(_source(node)), 0
    axis = node.op.axis % len(slot.shape)
    for result in node.outputs:
        low.place(result, slot.part(axis, start, result.shape[axis]))
        start += result.shape[axis]
    return True


@lowering("expand")
def expanded(low: Lowering, node: Node) -> bool:
    """Axes of size 1 repeated."""
    low.place(node.outputs[0], low.slot(_source(node)).expanded(node.outputs[0].shape))
    return True


@lowering("parameter", "buffer")
def stored(low: Lowering, node: Node) -> bool:
    """A parameter as it is."""
    low.place(node.outputs[0], low.stored(node, ""))
    return True


def _source(node: Node) -> Tensor:
    source = node.inputs[0]
    assert source is not None
    return source
