"""PyTorch code of the operations of :mod:`netcalc.ops.compare`."""

from __future__ import annotations

from functools import reduce

from netcalc.formats.export.torch.families.arithmetic import operands
from netcalc.formats.export.torch.rules import Call, Emitted, rule

_OPERATORS = {"equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}


@rule(*_OPERATORS)
def compare(call: Call) -> Emitted | str:
    """Write a comparison."""
    first, second = operands(call)
    return f"{first} {_OPERATORS[call.op.name]} {second}"


@rule("logical_and", "logical_or")
def logical(call: Call) -> Emitted | str:
    """Write ``&`` and ``|`` of truth values, and functions of others."""
    if all(type_ is None or type_.dtype == "bool" for type_ in call.types):
        return (" & " if call.op.name == "logical_and" else " | ").join(operands(call))
    return reduce(lambda x, y: f"torch.{call.op.name}({x}, {y})", operands(call))


@rule("logical_not")
def logical_not(call: Call) -> Emitted | str:
    """Write ``~``."""
    return f"~{call.x}" if call.type().dtype == "bool" else f"torch.logical_not({call.x})"


@rule("where")
def where(call: Call) -> Emitted | str:
    """Write ``torch.where``."""
    return f"torch.where({call.x}, {call.input(1)}, {call.input(2)})"


@rule("masked_fill")
def masked_fill(call: Call) -> Emitted | str:
    """Write ``masked_fill``."""
    value = call.value(call.op.value, "value")
    if call.results[0].shape == call.type().shape:
        return f"{call.x}.masked_fill({call.input(1)}, {value})"
    return f"torch.where({call.input(1)}, {value}, {call.x})"
