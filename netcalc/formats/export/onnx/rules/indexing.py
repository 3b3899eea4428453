"""Elements by their places, read and written."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import product
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.ops._broadcast import broadcast
from netcalc.tensor_type import TensorType

_REDUCTIONS = {None: "none", "sum": "add", "prod": "mul", "amax": "max", "amin": "min"}


def _is_run(axes: Sequence[int]) -> bool:
    """Return True for axes that follow one another, whose place the axes of the indices take."""
    return list(axes) == [*range(axes[0], axes[0] + len(axes))]


def _orders(axes: Sequence[int], rank: int) -> tuple[list[int], list[int]]:
    """Return the order that moves axes to the front, and the one that moves them back."""
    order = [*axes, *(axis for axis in range(rank) if axis not in axes)]
    return order, [order.index(axis) for axis in range(rank)]


def _places(graph: Emitter, indices: Sequence[Tensor]) -> Tensor:
    """Return indices that broadcast as one tensor of tuples."""
    shape = broadcast("index", [index.shape for index in indices])
    wide = [graph.expand(graph.cast(index, "int64"), shape) for index in indices]
    return graph.stack(wide, len(shape))


@rule("index")
def index(graph: Emitter, call: Applied) -> Tensor:
    """Return a Gather along one axis, or a GatherND along several."""
    x, indices = call.x, [call.required(place) for place in range(1, len(call.inputs))]
    axes = [axis % x.rank for axis in call.op.axis]
    if len(axes) == 1:
        return graph.gather(x, indices[0], axes[0])
    order, _ = _orders(axes, x.rank)
    moved, places = graph.transpose(x, order), _places(graph, indices)
    own = places.shape[:-1]
    shape = (*own, *moved.shape[len(axes) :])
    made = graph.node("GatherND", [moved, places], x.type.with_shape(*shape))
    if not _is_run(axes) or axes[0] == 0:
        return made
    first, count = axes[0], len(own)
    back = [*range(count, count + first), *range(count), *range(count + first, made.rank)]
    return graph.transpose(made, back)


@rule("index_put")
def index_put(graph: Emitter, call: Applied) -> Tensor:
    """Return a ScatterND on the axes that are indexed, moved to the front."""
    x, values = call.x, call.required(1)
    indices = [call.required(place) for place in range(2, len(call.inputs))]
    axes = [axis % x.rank for axis in call.op.axis]
    order, back = _orders(axes, x.rank)
    moved, places = graph.transpose(x, order), _places(graph, indices)
    own = places.shape[:-1]
    rest = moved.shape[len(axes) :]
    if _is_run(axes):  # values have the axes of the indices where these stand
        first, count = axes[0], len(own)
        values = graph.expand(values, (*rest[:first], *own, *rest[first:]))
        values = graph.transpose(
            values, [*range(first, first + count), *range(first), *range(first + count, values.rank)]
        )
    else:
        values = graph.expand(values, (*own, *rest))
    reduction = "add" if call.op.accumulate else "none"
    made = graph.node("ScatterND", [moved, places, values], moved.type, reduction=reduction)
    return graph.transpose(made, back)


@rule("scatter")
def scatter(graph: Emitter, call: Applied) -> Tensor:
    """Return a ScatterElements; of the source as many elements as there are places."""
    x, places, source = call.x, call.required(1), call.required(2)
    for axis, (size, needed) in enumerate(zip(source.shape, places.shape, strict=True)):
        if size != needed:
            source = graph.slice(source, axis, 0, needed)
    reduction = _REDUCTIONS[call.op.reduce]
    return graph.node("ScatterElements", [x, places, source], x.type, axis=call.op.axis % x.rank, reduction=reduction)


@rule("masked_scatter")
def masked_scatter(graph: Emitter, call: Applied) -> Tensor:
    """Return the elements of the source in order, where the mask holds: its cumulative sum numbers them."""
    shape = call.output.shape
    x, mask = graph.expand(call.x, shape), graph.expand(call.required(1), shape)
    source = graph.reshape(call.required(2), (product(call.required(2).shape),))
    flat = graph.reshape(graph.cast(mask, "int64"), (product(shape),))
    counted = graph.node("CumSum", [flat, graph.scalar(0, "int64")], TensorType(flat.shape, "int64"))
    places = graph.clip(graph.sub(counted, 1), 0, None)
    last = graph.size(source.shape[0] - 1)
    chosen = graph.gather(source, graph.binary("Min", places, last), 0)
    return graph.where(mask, graph.reshape(chosen, shape), x)
