"""Parts of tensors."""

from __future__ import annotations

from netcalc.dims import maximum, minimum, product
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule


@rule("slice")
def slice_(graph: Emitter, call: Applied) -> Tensor:
    """Return a Slice for each axis."""
    x = call.x
    for axis, start, stop, step in call.op.ranges():
        size = x.shape[axis]
        first = maximum(size + start, 0) if start < 0 else minimum(start, size)
        end = size if stop is None else maximum(size + stop, 0) if stop < 0 else minimum(stop, size)
        if first == 0 and end == size and step == 1:
            continue
        x = graph.slice(x, axis, first, end, step)
    return x


@rule("select")
def select(graph: Emitter, call: Applied) -> Tensor:
    """Return a Gather of one place."""
    axis, index = call.op.axis % call.x.rank, call.op.index
    return graph.gather(call.x, graph.size(index), axis)


@rule("gather")
def gather(graph: Emitter, call: Applied) -> Tensor:
    """Return a GatherElements; an axis on which the index is shorter is cut first."""
    x, index = call.x, call.required(1)
    axis = call.op.axis % x.rank
    for other, (size, needed) in enumerate(zip(x.shape, index.shape, strict=True)):
        if other != axis and size != needed:
            x = graph.slice(x, other, 0, needed)
    return graph.gather_elements(x, index, axis)


@rule("index_select")
def index_select(graph: Emitter, call: Applied) -> Tensor:
    """Return a Gather of listed places."""
    x, axis, listed = call.x, call.op.axis, call.op.indices
    if listed is not None:
        return graph.gather(x, graph.shape(listed), axis)
    index = call.required(1)
    return graph.gather(x, index if index.rank else graph.unsqueeze(index, [0]), axis)


@rule("roll")
def roll(graph: Emitter, call: Applied) -> Tensor:
    """Return two parts of each axis in reverse order."""
    x, axes = call.x, call.op.axis
    if axes is None:
        flat = graph.reshape(x, (product(x.shape),))
        return graph.reshape(_rolled(graph, flat, 0, call.op.shifts[0]), x.shape)
    for axis, shift in zip(axes, call.op.shifts, strict=True):
        x = _rolled(graph, x, axis % x.rank, shift)
    return x


def _rolled(graph: Emitter, x: Tensor, axis: int, shift: int) -> Tensor:
    size = x.shape[axis]
    place = (size - shift) % size if isinstance(size, int) else size - shift if shift > 0 else -shift
    if place == 0:
        return x
    return graph.concat([graph.slice(x, axis, place, size), graph.slice(x, axis, 0, place)], axis)


@rule("flip")
def flip(graph: Emitter, call: Applied) -> Tensor:
    """Return a Slice with a step of −1."""
    return graph.flip(call.x, call.op.axis) if call.op.axis else call.x
