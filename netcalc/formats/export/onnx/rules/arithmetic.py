"""Arithmetic between tensors that broadcast."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from netcalc.dims import Poly
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule


def operands(graph: Emitter, call: Applied, dtype: str | None = None) -> list[Tensor]:
    """Return the operands in the element type of the result, or in another: tensors, then a number."""
    dtype = dtype or call.output.dtype
    values = [graph.cast(value, dtype) for value in call.given]
    number = getattr(call.op, "value", None)
    if number is not None:
        values.append(graph.size(number, dtype) if isinstance(number, Poly) else graph.scalar(number, dtype))
    return values[::-1] if getattr(call.op, "reverse", False) else values


def _combined(operator: str) -> Callable[[Emitter, Applied], Tensor]:
    def combine(graph: Emitter, call: Applied) -> Tensor:
        return reduce(lambda x, y: graph.binary(operator, x, y), operands(graph, call))

    combine.__doc__ = f"Return the operands joined by {operator}."
    return combine


@rule("add")
def add(graph: Emitter, call: Applied) -> Tensor:
    """Return the sum; of truth values, whether any holds."""
    return _added(graph, call, "Add", "Or")


@rule("mul")
def mul(graph: Emitter, call: Applied) -> Tensor:
    """Return the product; of truth values, whether all hold."""
    return _added(graph, call, "Mul", "And")


def _added(graph: Emitter, call: Applied, operator: str, of_truth: str) -> Tensor:
    chosen = of_truth if call.output.dtype == "bool" else operator
    return reduce(lambda x, y: graph.binary(chosen, x, y), operands(graph, call))


rule("sub")(_combined("Sub"))


@rule("minimum")
def minimum(graph: Emitter, call: Applied) -> Tensor:
    """Return the least of the operands."""
    return reduce(lambda x, y: graph.binary("Min", x, y), operands(graph, call))


@rule("maximum")
def maximum(graph: Emitter, call: Applied) -> Tensor:
    """Return the greatest of the operands."""
    return reduce(lambda x, y: graph.binary("Max", x, y), operands(graph, call))


@rule("div")
def div(graph: Emitter, call: Applied) -> Tensor:
    """Return the quotient, which may be rounded down or towards zero."""
    first, second = operands(graph, call)
    made = graph.div(first, second)
    if call.op.rounding is None or (call.op.rounding == "trunc" and not made.type.is_float):
        return made
    if made.type.is_float:
        return graph.unary("Floor", made) if call.op.rounding == "floor" else truncated(graph, made)
    # the quotient of whole numbers is cut off: one less where there is a rest, and the signs differ
    rest = graph.sub(first, graph.mul(made, second))
    zero = graph.scalar(0, made)
    differ = graph.binary("Xor", graph.compare("Less", rest, zero), graph.compare("Less", second, zero))
    has_rest = graph.node("Not", [graph.compare("Equal", rest, zero)], rest.type.with_dtype("bool"))
    down = graph.cast(graph.binary("And", has_rest, differ), made.dtype)
    return graph.sub(made, down)


def truncated(graph: Emitter, x: Tensor) -> Tensor:
    """Return numbers rounded towards zero."""
    return graph.mul(graph.unary("Sign", x), graph.unary("Floor", graph.unary("Abs", x)))


@rule("pow")
def pow_(graph: Emitter, call: Applied) -> Tensor:
    """Return the power."""
    if call.output.is_complex:
        raise UnsupportedError("powers of complex numbers have no operator of ONNX")
    return graph.binary("Pow", *operands(graph, call))
