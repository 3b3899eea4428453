"""Transcendental functions of each element."""

from __future__ import annotations

import math

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule

_OPERATORS = {
    "tan": "Tan",
    "asin": "Asin",
    "acos": "Acos",
    "atan": "Atan",
    "sinh": "Sinh",
    "cosh": "Cosh",
    "asinh": "Asinh",
    "acosh": "Acosh",
    "atanh": "Atanh",
    "erf": "Erf",
}
#: Bases of logarithms.
_BASES = {"log2": 2.0, "log10": 10.0}
#: Elements below this are so small that x − x²/2 and x + x²/2 + x³/6 are exact in single precision.
_SMALL = 1e-3


def _operand(graph: Emitter, call: Applied) -> Tensor:
    return graph.cast(call.x, call.output.dtype)


@rule(*_OPERATORS)
def function(graph: Emitter, call: Applied) -> Tensor:
    """Return the operator of the same definition, in the element type of the result."""
    return graph.unary(_OPERATORS[call.op.name], _operand(graph, call))


@rule(*_BASES)
def logarithm(graph: Emitter, call: Applied) -> Tensor:
    """Return the natural logarithm over the one of the base."""
    return graph.mul(graph.unary("Log", _operand(graph, call)), 1 / math.log(_BASES[call.op.name]))


@rule("exp2")
def exp2(graph: Emitter, call: Applied) -> Tensor:
    """Return the exponential of x·ln 2."""
    return graph.unary("Exp", graph.mul(_operand(graph, call), math.log(2)))


@rule("expm1")
def expm1(graph: Emitter, call: Applied) -> Tensor:
    """Return eˣ − 1; near zero its series, since the difference would lose its digits."""
    x = _operand(graph, call)
    usual = graph.sub(graph.unary("Exp", x), 1.0)
    series = graph.mul(x, graph.add(graph.mul(x, graph.add(graph.mul(x, 1 / 6), 0.5)), 1.0))
    return graph.where(graph.compare("Less", graph.unary("Abs", x), _SMALL), series, usual)


@rule("log1p")
def log1p(graph: Emitter, call: Applied) -> Tensor:
    """Return ln(1 + x); near zero its series, since the sum would lose its digits."""
    x = _operand(graph, call)
    usual = graph.unary("Log", graph.add(x, 1.0))
    series = graph.mul(
        x, graph.sub(graph.scalar(1.0, x), graph.mul(x, graph.sub(graph.scalar(0.5, x), graph.mul(x, 1 / 3))))
    )
    return graph.where(graph.compare("Less", graph.unary("Abs", x), _SMALL), series, usual)


@rule("erfc")
def erfc(graph: Emitter, call: Applied) -> Tensor:
    """Return 1 − erf(x)."""
    x = _operand(graph, call)
    return graph.sub(graph.scalar(1.0, x), graph.unary("Erf", x))


@rule("atan2")
def atan2(graph: Emitter, call: Applied) -> Tensor:
    """Return the arctangent of y/x, with π added or subtracted where x is negative."""
    y, x = (graph.cast(call.required(index), call.output.dtype) for index in (0, 1))
    zero = graph.scalar(0.0, x)
    is_zero = graph.compare("Equal", x, zero)
    ratio = graph.unary("Atan", graph.div(y, graph.where(is_zero, graph.scalar(1.0, x), x)))
    half = graph.mul(graph.unary("Sign", y), math.pi / 2)
    turn = graph.where(graph.compare("Less", y, zero), graph.scalar(-math.pi, x), graph.scalar(math.pi, x))
    behind = graph.where(graph.compare("Less", x, zero), graph.add(ratio, turn), ratio)
    return graph.where(is_zero, half, behind)
