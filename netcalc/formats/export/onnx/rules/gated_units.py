"""Gated linear units."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules.activation import gelu_of, silu_of


@rule("glu", "reglu", "geglu", "swiglu")
def gated(graph: Emitter, call: Applied) -> Tensor:
    """Return the product of one half with an activation of the other."""
    x, axis = call.x, call.op.axis % call.x.rank
    half = x.shape[axis] // 2
    halves = graph.split(x, axis, [half, half])
    value, gate = halves if call.op.gate == "second" else halves[::-1]
    match call.op.name:
        case "glu":
            active = graph.unary("Sigmoid", gate)
        case "reglu":
            active = graph.unary("Relu", gate)
        case "geglu":
            active = gelu_of(graph, gate, call.op.approximate)
        case _:
            active = silu_of(graph, gate)
    return graph.mul(value, active)
