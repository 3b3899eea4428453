"""Places of extremes, and elements in order."""

from __future__ import annotations

from netcalc.dims import Dim, product
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule

_OPERATORS = {"argmax": "ArgMax", "argmin": "ArgMin"}


@rule(*_OPERATORS)
def place(graph: Emitter, call: Applied) -> Tensor:
    """Return the place of the first extreme along an axis, or in the flattened tensor."""
    x, op = call.x, call.op
    axis, keep = op.axis, int(op.keepdim)
    if axis is None or not x.rank:
        x, axis, keep = graph.reshape(x, (product(x.shape),)), 0, 0
    axis %= x.rank
    kept = [1 if other == axis else size for other, size in enumerate(x.shape) if keep or other != axis]
    made = graph.node(_OPERATORS[op.name], [x], call.output.with_shape(*kept), axis=axis, keepdims=keep)
    return graph.reshape(made, call.output.shape)


@rule("topk")
def topk(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return a TopK."""
    x = call.x if call.x.rank else graph.unsqueeze(call.x, [0])
    made = top(graph, x, call.op.k, call.op.axis % x.rank, largest=call.op.largest)
    return made if call.x.rank else [graph.squeeze(value, [0]) for value in made]


@rule("sort")
def sort(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return a TopK of all elements."""
    x = call.x
    if not x.rank:
        return [x, graph.scalar(0, "int64")]
    axis = call.op.axis % x.rank
    return top(graph, x, x.shape[axis], axis, largest=call.op.descending)


def top(graph: Emitter, x: Tensor, count: Dim, axis: int, *, largest: bool = True) -> list[Tensor]:
    """Return the greatest or smallest elements along an axis in order, and their places."""
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    types = [x.type.with_shape(*shape), x.type.with_shape(*shape).with_dtype("int64")]
    return graph.nodes_of("TopK", [x, graph.shape([count])], types, axis=axis, largest=int(largest), sorted=1)
