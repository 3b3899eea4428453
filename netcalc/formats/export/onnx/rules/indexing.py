"""Look-up and replacement at positions that tensors hold."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import product
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.ops._broadcast import broadcast

_COMBINED = {None: None, "sum": "add", "prod": "mul", "amax": "max", "amin": "min"}


@rule("index")
def index(graph: Emitter, call: Applied) -> Tensor:
    """Return a Gather along one axis, or a GatherND along several."""
    x = call.x
    axes, indices = _normal(call, x, call.inputs[1:])
    if len(axes) == 1:
        return graph.gather(x, indices[0], axes[0])
    front = graph.transpose(x, _front(axes, x.rank))
    places = _stacked(graph, indices)
    common = places.shape[:-1]
    rest = front.shape[len(axes) :]
    found = graph.node("GatherND", [front, places], x.type.with_shape(*common, *rest))
    before = _before(axes)
    order = [*range(len(common), len(common) + before), *range(len(common)), *range(len(common) + before, found.rank)]
    return graph.transpose(found, order)


@rule("index_put")
def index_put(graph: Emitter, call: Applied) -> Tensor:
    """Return a ScatterND; indexed axes are moved to the front and back."""
    x = call.x
    axes, indices = _normal(call, x, call.inputs[2:])
    order = _front(axes, x.rank)
    front = graph.transpose(x, order)
    places = _stacked(graph, indices)
    common = places.shape[:-1]
    rest = front.shape[len(axes) :]
    before = _before(axes)
    # values are shaped as what index gives, where the axes of the indices are behind the plain axes before them
    values = graph.expand(call.required(1), (*rest[:before], *common, *rest[before:]))
    count = len(common)
    moved = [*range(before, before + count), *range(before), *range(before + count, values.rank)]
    values = graph.transpose(values, moved)
    reduction = "add" if call.op.accumulate else None
    made = graph.node("ScatterND", [front, places, values], front.type, reduction=reduction)
    return graph.transpose(made, [order.index(axis) for axis in range(x.rank)])


def _normal(call: Applied, x: Tensor, indices: Sequence[Tensor | None]) -> tuple[list[int], list[Tensor]]:
    """Return the axes, which count from the first, in order, and the index of each."""
    axes = [axis % x.rank for axis in call.op.axis]
    pairs = sorted(zip(axes, indices, strict=True), key=lambda pair: pair[0])
    return [axis for axis, _ in pairs], [index for _, index in pairs if index is not None]


def _front(axes: Sequence[int], rank: int) -> list[int]:
    return [*axes, *(axis for axis in range(rank) if axis not in axes)]


def _before(axes: Sequence[int]) -> int:
    """Return the number of plain axes before those of the indices: none if the indexed axes are not neighbors."""
    first = axes[0]
    return first if list(axes) == [*range(first, first + len(axes))] else 0


def _stacked(graph: Emitter, indices: Sequence[Tensor]) -> Tensor:
    """Return the indices broadcast together, with those of each place as the last axis."""
    shape = broadcast("index", [index.shape for index in indices])
    spread = [graph.expand(graph.cast(index, "int64"), shape) for index in indices]
    return graph.stack(spread, len(shape))


@rule("scatter")
def scatter(graph: Emitter, call: Applied) -> Tensor:
    """Return a ScatterElements."""
    x, places, source = call.given
    places = graph.cast(places, "int64")
    reduction = _COMBINED[call.op.reduce]
    return graph.node("ScatterElements", [x, places, source], x.type, axis=call.op.axis % x.rank, reduction=reduction)


@rule("masked_scatter")
def masked_scatter(graph: Emitter, call: Applied) -> Tensor:
    """Return the elements of the source whose number is the count of true elements of the mask before, or the input."""
    x, mask, source = call.given
    shape, count = call.output.shape, product(call.output.shape)
    if product(source.shape) == 0:
        return graph.expand(x, shape)
    flat = graph.reshape(graph.cast(graph.expand(mask, shape), "int64"), (count,))
    arrived = graph.node("CumSum", [flat, graph.scalar(0, "int64")], flat.type)
    # the count of a place is only read where the mask is true, and is at least 1 there
    places = graph.binary("Max", graph.sub(arrived, 1), 0)
    last = graph.binary("Min", places, graph.sub(graph.size(product(source.shape)), 1))
    found = graph.gather(graph.reshape(source, (product(source.shape),)), last, 0)
    return graph.where(mask, graph.reshape(found, shape), x)
