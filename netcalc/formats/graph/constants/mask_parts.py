"""Masks of attention as constant parts and those that depend on inputs or parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from netcalc.dims import Dim
from netcalc.formats.graph.constants.expressions import Expression, Number, call
from netcalc.formats.graph.constants.masks import visible
from netcalc.formats.graph.model import Line, Value

#: Views that only repeat a mask along axes of size 1, which attention does itself.
_REPEATS = ("expand",)


def bare(mask: Value, makers: dict[Value, Line]) -> Value:
    """Return a mask before its repetition along axes of size 1."""
    line = makers.get(mask)
    while line is not None and line.operation in _REPEATS and line.inputs[0] is not None:
        mask = line.inputs[0]
        line = makers.get(mask)
    return mask


#: Truths of "this key is visible", each with its shape, and the other parts of a mask.
Parts: TypeAlias = tuple[list[tuple[Expression, Sequence[Dim]]], list[Value]]


def boolean_parts(mask: Value, constants: dict[Value, Expression], makers: dict[Value, Line]) -> Parts:
    """Return the constant and the other parts of which a boolean mask is the conjunction."""
    leaves = _leaves(mask, constants, makers)
    shown: list[tuple[Expression, Sequence[Dim]]] = [(constants[x], x.type.shape) for x in leaves if x in constants]
    return shown, [leaf for leaf in leaves if leaf not in constants]


def _leaves(mask: Value, constants: dict[Value, Expression], makers: dict[Value, Line]) -> list[Value]:
    """Return the boolean tensors of which a mask is the conjunction."""
    line = makers.get(mask)
    if mask in constants or line is None:
        return [mask]
    inputs = [value for value in line.inputs if value is not None]
    if line.operation in _REPEATS or (line.operation == "cast" and inputs[0].type.dtype == "bool"):
        return _leaves(inputs[0], constants, makers)
    if line.operation == "logical_and" and all(value.type.dtype == "bool" for value in inputs):
        return list(dict.fromkeys(leaf for value in inputs for leaf in _leaves(value, constants, makers)))
    return [mask]


def added_parts(mask: Value, constants: dict[Value, Expression], makers: dict[Value, Line]) -> Parts:
    """Return the constant parts of a mask that is added to the scores, and what is left of it.

    What is left depends on no input: with a mask of padding a query might see no key, and the numbers that hide keys
    would then count.
    """
    if mask in constants:
        part = visible(constants[mask], mask.type.dtype)
        return ([], [mask]) if part is None else ([(part, mask.type.shape)], [])
    line = makers.get(mask)
    hiding = None if line is None else _hiding(line, constants)
    if hiding is None or _depends_on_inputs(hiding.rest, makers):
        return [], [mask]
    inner, rest = added_parts(bare(hiding.rest, makers), constants, makers)
    return [(hiding.seen, hiding.shape), *inner], rest


class _Hiding(NamedTuple):
    """A line that hides keys in a mask: the truth of "this key is visible", its shape, and the mask before."""

    seen: Expression
    shape: Sequence[Dim]
    rest: Value


def _hiding(line: Line, constants: dict[Value, Expression]) -> _Hiding | None:
    inputs = [value for value in line.inputs if value is not None]
    shown = Number("float", 0.0)
    candidates: list[tuple[Value, Value, Expression]] = []
    if line.operation == "where" and inputs[0] in constants and inputs[2] in constants:
        candidates = [(inputs[1], inputs[0], call("where", (constants[inputs[0]], shown, constants[inputs[2]])))]
    elif line.operation == "masked_fill" and inputs[1] in constants:
        hidden = Number("float", float(line.attributes["value"]))
        candidates = [(inputs[0], inputs[1], call("where", (constants[inputs[1]], hidden, shown)))]
    elif line.operation == "add" and len(inputs) == 2 and not line.attributes:
        candidates = [(a, b, constants[b]) for a, b in (inputs, inputs[::-1]) if b in constants]
    for rest, fixed, expression in candidates:
        seen = visible(expression, line.outputs[0].type.dtype)
        if seen is not None:
            return _Hiding(seen, fixed.type.shape, rest)
    return None


def _depends_on_inputs(value: Value, makers: dict[Value, Line]) -> bool:
    waiting, seen = [value], {value}
    while waiting:
        line = makers.get(waiting.pop())
        if line is None:
            return True
        new = {operand for operand in line.inputs if operand is not None} - seen
        seen |= new
        waiting += new
    return False
