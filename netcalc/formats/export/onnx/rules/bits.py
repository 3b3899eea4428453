"""Bits of whole numbers, shifted or seen as another type, and truth values as single bits."""

from __future__ import annotations

from functools import reduce

from netcalc.dtypes import INTEGERS
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule
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


@rule("bitwise_left_shift")
def left_shift(graph: Emitter, call: Applied) -> Tensor:
    """Return the product with a power of two in int64, of which a Cast keeps the bits that the type has."""
    x, count = operands(graph, call)
    # 2⁶³ is the least number of int64, and a shift by more leaves no bit
    powers = graph.integers([*(1 << place for place in range(63)), -(1 << 63), 0])
    power = graph.gather(powers, _within(graph, count, 64), 0)
    return graph.cast(graph.mul(graph.cast(x, "int64"), power), call.output.dtype)


@rule("bitwise_right_shift")
def right_shift(graph: Emitter, call: Applied) -> Tensor:
    """Return the quotient by a power of two in int64, rounded down; a BitShift of 64 bits without a sign."""
    x, count = operands(graph, call)
    if x.dtype == "uint64":
        places = _within(graph, count, 64)
        none = graph.compare("Equal", places, 64)
        shifted = graph.binary("BitShift", x, graph.cast(graph.clip(places, 0, 63), "uint64"), direction="RIGHT")
        return graph.where(none, graph.scalar(0, "uint64"), shifted)
    number, places = graph.cast(x, "int64"), _within(graph, count, 63)
    power = graph.gather(graph.integers([*(1 << place for place in range(63)), 1]), places, 0)
    quotient = graph.div(graph.sub(number, graph.binary("Mod", number, power)), power)
    signs = graph.unary("Neg", graph.cast(graph.compare("Less", number, 0), "int64"))
    return graph.cast(graph.where(graph.compare("Equal", places, 63), signs, quotient), call.output.dtype)


def _within(graph: Emitter, count: Tensor, most: int) -> Tensor:
    """Return numbers of places from 0 on, with ``most`` for all that are negative or more."""
    if count.dtype == "uint64":
        return graph.cast(graph.binary("Min", count, most), "int64")
    places = graph.cast(count, "int64")
    return graph.where(graph.compare("Less", places, 0), graph.scalar(most, places), graph.binary("Min", places, most))


@rule("bitcast")
def bitcast(graph: Emitter, call: Applied) -> Tensor:
    """Return a Cast between whole numbers of one size, which keeps their bits.

    The operator of other types, BitCast, is in versions of ONNX that are not written.
    """
    types = {call.x.dtype, call.output.dtype}
    if len(types) > 1 and not types <= {*INTEGERS, "bool"}:
        raise UnsupportedError(f"no operator sees the bits of {call.x.dtype} as {call.output.dtype} before version 26")
    return graph.cast(call.x, call.output.dtype)
