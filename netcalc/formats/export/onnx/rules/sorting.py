"""Places of extremes, extremes so far, and elements in order."""

from __future__ import annotations

from netcalc.dims import Dim, product
from netcalc.dtypes import FLOATS
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.scan import Sequenced, scan

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


#: Element types that Max and Min take in onnxruntime, by those that they hold.
_COMPARED = {"float16": "float32", "bfloat16": "float32"} | dict.fromkeys(
    ("bool", "int8", "int16", "uint8", "uint16", "uint32"), "int64"
)


@rule("cummax", "cummin")
def extreme_so_far(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return a Scan along an axis, whose states are the extreme and the last place of it; NaN stays one."""
    x = graph.cast(call.x, _COMPARED.get(call.x.dtype, call.x.dtype))
    if not x.rank:
        return [call.x, graph.scalar(0, "int64")]
    axis = call.op.axis % x.rank
    rest = [size for place, size in enumerate(x.shape) if place != axis]
    operator = "Max" if call.op.name == "cummax" else "Min"

    def step(inner: Emitter, states: list[Tensor], items: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        (best, at), (item, place) = states, items
        new = inner.binary(operator, best, item)
        is_extreme = inner.compare("Equal", item, new)
        if item.dtype in FLOATS:
            is_nan = inner.node("IsNaN", [item], is_extreme.type)
            new = inner.where(is_nan, item, inner.where(inner.node("IsNaN", [best], is_extreme.type), best, new))
            is_extreme = inner.node("Or", [is_extreme, is_nan], is_extreme.type)
        places = inner.where(is_extreme, inner.expand(place, rest), at)
        return [new, places], [new, places]

    first = graph.squeeze(graph.slice(x, axis, 0, 1), [axis])
    places = graph.range(0, x.shape[axis])
    states = [first, graph.zeros(rest, "int64")]
    _, (values, indices) = scan(graph, states, [Sequenced(x, axis), Sequenced(places, 0)], step, [axis, axis])
    return [graph.cast(values, call.output.dtype), indices]


def top(graph: Emitter, x: Tensor, count: Dim, axis: int, *, largest: bool = True) -> list[Tensor]:
    """Return the greatest or smallest elements along an axis in order, and their places."""
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    types = [x.type.with_shape(*shape), x.type.with_shape(*shape).with_dtype("int64")]
    return graph.nodes_of("TopK", [x, graph.shape([count])], types, axis=axis, largest=int(largest), sorted=1)
