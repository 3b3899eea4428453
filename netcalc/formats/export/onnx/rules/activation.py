"""Activations."""

from __future__ import annotations

import math

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules._wide import wide

#: Operators with the same definition and no attributes.
_SAME = {
    "selu": "Selu",
    "mish": "Mish",
    "hardswish": "HardSwish",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "softsign": "Softsign",
}
#: First version with an operator for gelu.
_GELU = 20


@rule(*_SAME)
def same(graph: Emitter, call: Applied) -> Tensor:
    """Return the operator of the same definition."""
    return graph.unary(_SAME[call.op.name], call.x)


@rule("identity", "detach")
def identity(graph: Emitter, call: Applied) -> Tensor:
    """Return the input."""
    return call.x


@rule("elu")
def elu(graph: Emitter, call: Applied) -> Tensor:
    """Return an Elu."""
    return graph.unary("Elu", call.x, alpha=float(call.op.alpha))


@rule("celu")
def celu(graph: Emitter, call: Applied) -> Tensor:
    """Return x or alpha·(exp(x/alpha) − 1), since Celu takes single precision alone."""
    x, alpha = call.x, float(call.op.alpha)
    falling = graph.mul(graph.sub(graph.unary("Exp", graph.div(x, alpha)), 1.0), alpha)
    positive = graph.compare("Greater", x, 0.0)
    return graph.where(positive, x, falling)


@rule("gelu")
def gelu(graph: Emitter, call: Applied) -> Tensor:
    """Return a Gelu, or its arithmetic in versions without it."""
    return gelu_of(graph, call.x, call.op.approximate)


def gelu_of(graph: Emitter, x: Tensor, approximate: str) -> Tensor:
    """Return the gelu of a value by one of its formulas."""
    if graph.opset >= _GELU:
        return graph.unary("Gelu", x, approximate=approximate)
    inner = wide(graph, x)
    if approximate == "none":
        inside = graph.unary("Erf", graph.mul(inner, math.sqrt(0.5)))
    else:
        cube = graph.mul(graph.mul(inner, inner), inner)
        inside = graph.mul(graph.add(inner, graph.mul(cube, 0.044715)), math.sqrt(2 / math.pi))
        inside = graph.unary("Tanh", inside)
    made = graph.mul(graph.mul(inner, 0.5), graph.add(inside, 1.0))
    return graph.cast(made, x.dtype)


@rule("quick_gelu")
def quick_gelu(graph: Emitter, call: Applied) -> Tensor:
    """Return x·sigmoid(1.702·x)."""
    return graph.mul(call.x, graph.unary("Sigmoid", graph.mul(call.x, 1.702)))


@rule("silu")
def silu(graph: Emitter, call: Applied) -> Tensor:
    """Return x·sigmoid(x)."""
    return silu_of(graph, call.x)


def silu_of(graph: Emitter, x: Tensor) -> Tensor:
    """Return x·sigmoid(x) of a value."""
    return graph.mul(x, graph.unary("Sigmoid", x))


@rule("hardsigmoid")
def hardsigmoid(graph: Emitter, call: Applied) -> Tensor:
    """Return a HardSigmoid with the slope 1/6."""
    return graph.unary("HardSigmoid", call.x, alpha=1 / 6, beta=0.5)


@rule("hardtanh")
def hardtanh(graph: Emitter, call: Applied) -> Tensor:
    """Return the input within bounds."""
    return graph.clip(call.x, call.op.min, call.op.max)


@rule("logsigmoid")
def logsigmoid(graph: Emitter, call: Applied) -> Tensor:
    """Return −softplus(−x)."""
    return graph.unary("Neg", graph.unary("Softplus", graph.unary("Neg", call.x)))


@rule("tanhshrink")
def tanhshrink(graph: Emitter, call: Applied) -> Tensor:
    """Return x − tanh(x)."""
    return graph.sub(call.x, graph.unary("Tanh", call.x))


@rule("hardshrink")
def hardshrink(graph: Emitter, call: Applied) -> Tensor:
    """Return a Shrink without a shift."""
    return graph.unary("Shrink", call.x, lambd=float(call.op.lambd), bias=0.0)


@rule("softshrink")
def softshrink(graph: Emitter, call: Applied) -> Tensor:
    """Return a Shrink that shifts as far as its interval reaches."""
    return graph.unary("Shrink", call.x, lambd=float(call.op.lambd), bias=float(call.op.lambd))


@rule("threshold")
def threshold(graph: Emitter, call: Applied) -> Tensor:
    """Return the input where it exceeds the threshold, and a number elsewhere."""
    x = call.x
    return graph.where(graph.compare("Greater", x, call.op.threshold), x, graph.scalar(call.op.value, x))


@rule("softplus")
def softplus(graph: Emitter, call: Applied) -> Tensor:
    """Return ln(1 + exp(beta·x))/beta, and x itself above the threshold."""
    x, beta, limit = call.x, float(call.op.beta), float(call.op.threshold)
    scaled = x if beta == 1 else graph.mul(x, beta)
    made = graph.unary("Softplus", scaled)
    made = made if beta == 1 else graph.div(made, beta)
    if limit >= 20 and x.dtype != "float64":  # beyond it the two are equal in single precision
        return made
    return graph.where(graph.compare("Greater", scaled, limit), x, made)
