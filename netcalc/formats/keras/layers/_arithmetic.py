"""Arithmetic of operands with each other and with numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.operands import cast, single
from netcalc.formats.graph.model import Value
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.operand import Operand
from netcalc.formats.keras.problems import clipped


def combined(call: Call, operation: str, operands: Sequence[Operand], **attributes: Any) -> Operand:
    """Return the result of an operation on tensors, which broadcast."""
    values, first = call.around.layouts.together(operands)
    return Operand(call.line(operation, values, attributes), first, operands[0].mask)


def binary(call: Call, operation: str, left: Any, right: Any) -> Operand:
    """Return the result of an operation on two arguments, tensors or numbers."""
    if isinstance(left, Operand) and isinstance(right, Operand):
        return combined(call, operation, [left, right])
    if isinstance(left, Operand):
        value = like(left, right)
        if value is not None:
            return Operand(call.line(operation, [left.value], {"value": value}), left.first, left.mask)
        return combined(call, operation, [left, constant(call, right, left)])
    if not isinstance(right, Operand):
        raise RuleError("it has no tensor among its arguments")
    value = like(right, left)
    if value is None:
        return combined(call, operation, [constant(call, left, right), right])
    if operation in ("add", "mul", "minimum", "maximum"):
        return Operand(call.line(operation, [right.value], {"value": value}), right.first, right.mask)
    if operation in ("sub", "pow"):
        return Operand(call.line(operation, [right.value], {"value": value, "reverse": True}), right.first, right.mask)
    whole = call.build.filled((), value, right.value.type.dtype)
    return Operand(call.line(operation, [whole, right.value], {}), right.first, right.mask)


def like(operand: Operand, value: Any) -> int | float | None:
    """Return a number as arithmetic with a tensor has it; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if operand.value.type.is_float else value


def constant(call: Call, value: Any, other: Operand) -> Operand:
    """Return numbers of the file as a tensor of the type of another, with their axes; RuleError for anything else."""
    shape, numbers = flattened(value)
    dtype = other.value.type.dtype
    if not shape:
        return Operand(call.build.filled((), numbers[0], dtype))
    given = {"value": value, "dtype": dtype if dtype != "float32" else None}
    made = call.line("constant", [], {name: one for name, one in given.items() if one is not None})
    if dtype == "float32" and made.type.dtype != "float32":
        made = call.line("cast", [made], {"dtype": "float32"})
    return Operand(made)


def any_along(call: Call, value: Value, axes: Sequence[int], *, keep: bool = False) -> Value:
    """Return whether any truth value along axes holds."""
    count = call.line("sum", [cast(call.build, value, "int64")], {"axis": single(axes), "keepdim": keep or None})
    return call.line("greater", [count], {"value": 0})


def flattened(value: Any) -> tuple[tuple[int, ...], list[Any]]:
    """Return the shape and the elements of nested lists of numbers; RuleError for anything else."""
    if isinstance(value, list) and value:
        parts = [flattened(item) for item in value]
        if any(shape != parts[0][0] for shape, _ in parts):
            raise RuleError("lists of different lengths where numbers are expected")
        return (len(value), *parts[0][0]), [number for _, numbers in parts for number in numbers]
    if isinstance(value, (int, float)) and not isinstance(value, list):
        return (), [value]
    raise RuleError(f"{clipped(value)} where numbers are expected")


def by_channel(call: Call, operand: Operand, numbers: Sequence[float]) -> Value:
    """Return a number for each index of the last axis of Keras as a tensor that broadcasts with the operand's value."""
    listed = [float(number) for number in numbers]
    if operand.first:
        nested: Any = [[[number]] if operand.rank == 4 else [number] for number in listed]
        nested = [[[[number]]] for number in listed] if operand.rank == 5 else nested
        return call.line("constant", [], {"value": nested})
    return call.line("constant", [], {"value": listed})
