"""Functions of each element."""

from __future__ import annotations

from netcalc.dims import Poly
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule

_OPERATORS = {
    "exp": "Exp",
    "log": "Log",
    "sqrt": "Sqrt",
    "reciprocal": "Reciprocal",
    "sin": "Sin",
    "cos": "Cos",
    "abs": "Abs",
    "neg": "Neg",
    "sign": "Sign",
}


@rule(*_OPERATORS)
def function(graph: Emitter, call: Applied) -> Tensor:
    """Return the operator of the same definition, in the element type of the result."""
    _require_real(call)
    return graph.unary(_OPERATORS[call.op.name], graph.cast(call.x, call.output.dtype))


@rule("rsqrt")
def rsqrt(graph: Emitter, call: Applied) -> Tensor:
    """Return the reciprocal of the root."""
    _require_real(call)
    return graph.unary("Reciprocal", graph.unary("Sqrt", graph.cast(call.x, call.output.dtype)))


@rule("square")
def square(graph: Emitter, call: Applied) -> Tensor:
    """Return the product with itself."""
    _require_real(call)
    x = graph.cast(call.x, call.output.dtype)
    return graph.mul(x, x)


@rule("clamp")
def clamp(graph: Emitter, call: Applied) -> Tensor:
    """Return a Clip."""
    x, bounds = graph.cast(call.x, call.output.dtype), [call.op.min, call.op.max]
    if any(isinstance(bound, Poly) for bound in bounds):
        made = [None if bound is None else graph.size(bound, x.dtype) for bound in bounds]
        return graph.node("Clip", [x, *made], x.type)
    return graph.clip(x, *bounds)


@rule("cast")
def cast(graph: Emitter, call: Applied) -> Tensor:
    """Return a Cast."""
    _require_real(call)
    return graph.cast(call.x, call.output.dtype)


def _require_real(call: Applied) -> None:
    if call.x.type.is_complex or call.output.is_complex:
        raise UnsupportedError("complex numbers have no operator of ONNX")
