"""Rounding, and rests of divisions."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules.arithmetic import operands, truncated

_OPERATORS = {"floor": "Floor", "ceil": "Ceil", "round": "Round"}


@rule(*_OPERATORS)
def whole(graph: Emitter, call: Applied) -> Tensor:
    """Return a Floor, a Ceil or a Round, which takes halves to the even number; whole numbers as they are."""
    return graph.unary(_OPERATORS[call.op.name], call.x) if call.x.type.is_float else call.x


@rule("trunc")
def trunc(graph: Emitter, call: Applied) -> Tensor:
    """Return numbers rounded towards zero."""
    return truncated(graph, call.x) if call.x.type.is_float else call.x


@rule("remainder")
def remainder(graph: Emitter, call: Applied) -> Tensor:
    """Return the rest with the sign of the divisor."""
    first, second = operands(graph, call)
    if not first.type.is_float:
        return graph.binary("Mod", first, second)
    return graph.sub(first, graph.mul(graph.unary("Floor", graph.div(first, second)), second))


@rule("fmod")
def fmod(graph: Emitter, call: Applied) -> Tensor:
    """Return the rest with the sign of the dividend."""
    return graph.binary("Mod", *operands(graph, call), fmod=1)
