"""Bits of whole numbers, and truth values as single bits."""

from __future__ import annotations

from functools import reduce

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules.arithmetic import operands

#: Operators of whole numbers and of truth values.
_OPERATORS = {
    "bitwise_and": ("BitwiseAnd", "And"),
    "bitwise_or": ("BitwiseOr", "Or"),
    "bitwise_xor": ("BitwiseXor", "Xor"),
}


@rule(*_OPERATORS)
def combined(graph: Emitter, call: Applied) -> Tensor:
    """Return a BitwiseAnd, BitwiseOr or BitwiseXor, or the operator of truth values."""
    operator = _OPERATORS[call.op.name][call.output.dtype == "bool"]
    return reduce(lambda x, y: graph.binary(operator, x, y), operands(graph, call))


@rule("bitwise_not")
def bitwise_not(graph: Emitter, call: Applied) -> Tensor:
    """Return a BitwiseNot, or a Not."""
    return graph.unary("Not" if call.x.dtype == "bool" else "BitwiseNot", call.x)
