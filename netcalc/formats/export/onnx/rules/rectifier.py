"""Rectifiers."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule


@rule("relu")
def relu(graph: Emitter, call: Applied) -> Tensor:
    """Return max(x, 0)."""
    return graph.unary("Relu", call.x)


@rule("relu6")
def relu6(graph: Emitter, call: Applied) -> Tensor:
    """Return x within 0 and 6."""
    return graph.clip(call.x, 0.0, 6.0)


@rule("leaky_relu")
def leaky_relu(graph: Emitter, call: Applied) -> Tensor:
    """Return x, or its share below zero."""
    return graph.unary("LeakyRelu", call.x, alpha=float(call.op.negative_slope))


@rule("prelu")
def prelu(graph: Emitter, call: Applied) -> Tensor:
    """Return x, or a learned share below zero, of each channel."""
    x, slope = call.x, call.param("weight")
    if slope.shape != (1,) and x.rank > 2:
        slope = graph.reshape(slope, (slope.shape[0], *(1,) * (x.rank - 2)))
    return graph.node("PRelu", [x, slope], x.type)


@rule("squared_relu")
def squared_relu(graph: Emitter, call: Applied) -> Tensor:
    """Return max(x, 0)²."""
    positive = graph.unary("Relu", call.x)
    return graph.mul(positive, positive)
