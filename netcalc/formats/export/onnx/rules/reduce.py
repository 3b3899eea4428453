"""Reductions over axes, and sums and products of the elements so far."""

from __future__ import annotations

import math
from collections.abc import Sequence

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule

_OPERATORS = {
    "sum": "ReduceSum",
    "prod": "ReduceProd",
    "mean": "ReduceMean",
    "max": "ReduceMax",
    "min": "ReduceMin",
    "logsumexp": "ReduceLogSumExp",
}
#: Element types in which others are reduced, for which the operators are not there.
_SUMMED = dict.fromkeys(("bool", "int8", "int16", "uint8", "uint16"), "int64")


@rule(*_OPERATORS)
def reduction(graph: Emitter, call: Applied) -> Tensor:
    """Return a reduction in the element type of the result."""
    x, name = call.x, call.op.name
    inner = graph.cast(x, _SUMMED.get(call.output.dtype, call.output.dtype))
    made = graph.reduce(_OPERATORS[name], inner, call.op.axes(x.rank), keep=call.op.keepdim)
    return graph.cast(made, call.output.dtype)


@rule("var")
def var(graph: Emitter, call: Applied) -> Tensor:
    """Return the sum of squares of what is centered over the number of elements, less the correction."""
    x, op = call.x, call.op
    axes = op.axes(x.rank)
    centered = graph.sub(x, graph.mean(x, axes))
    total = graph.sum(graph.mul(centered, centered), axes, keep=op.keepdim)
    _, count = op.sizes(x.type)
    if isinstance(count, int):
        return graph.div(total, float(max(count - op.correction, 0)))
    return graph.div(total, graph.sub(graph.size(count, x.dtype), float(op.correction)))


@rule("vector_norm")
def vector_norm(graph: Emitter, call: Applied) -> Tensor:
    """Return the norm over axes."""
    return p_norm(graph, call.x, float(call.op.ord), call.op.axes(call.x.rank), keep=call.op.keepdim)


def p_norm(graph: Emitter, x: Tensor, order: float, axes: Sequence[int], *, keep: bool) -> Tensor:
    """Return (Σ|x|^p)^(1/p) over axes."""
    if order in (1, 2):
        return graph.reduce(f"ReduceL{order:.0f}", x, axes, keep=keep)
    size = graph.unary("Abs", x)
    if math.isinf(order):
        return graph.reduce("ReduceMax" if order > 0 else "ReduceMin", size, axes, keep=keep)
    if order == 0:
        counted = graph.cast(graph.compare("Greater", size, 0.0), x.dtype)
        return graph.sum(counted, axes, keep=keep)
    total = graph.sum(graph.binary("Pow", size, order), axes, keep=keep)
    return graph.binary("Pow", total, 1 / order)


@rule("cumsum")
def cumsum(graph: Emitter, call: Applied) -> Tensor:
    """Return a CumSum."""
    x = graph.cast(call.x, call.output.dtype)
    if not x.rank:
        return x
    return graph.node("CumSum", [x, graph.scalar(call.op.axis % x.rank, "int64")], x.type)


@rule("cumprod")
def cumprod(graph: Emitter, call: Applied) -> Tensor:
    """Return products of the elements so far, by log₂ n products of the tensor with itself, moved."""
    x, axis = graph.cast(call.x, call.output.dtype), call.op.axis
    if not x.rank:
        return x
    axis %= x.rank
    size = x.shape[axis]
    if not isinstance(size, int):
        raise UnsupportedError("products along a symbolic axis have no operator of ONNX")
    distance = 1
    while distance < size:
        moved = graph.slice(x, axis, 0, size - distance)
        pads = [(distance, 0) if place == axis else (0, 0) for place in range(x.rank)]
        x = graph.mul(x, graph.pad(moved, pads, 1))
        distance *= 2
    return x
