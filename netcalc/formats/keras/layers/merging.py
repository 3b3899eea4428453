"""Layers that combine tensors."""

from __future__ import annotations

from netcalc.diagnostics import RuleError
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.layers import layer
from netcalc.formats.keras.layers._activations import front
from netcalc.formats.keras.layers._arithmetic import combined
from netcalc.formats.keras.operand import Operand

_OPERATIONS = {"Add": "add", "Multiply": "mul", "Maximum": "maximum", "Minimum": "minimum"}


def _operands(call: Call, least: int = 2) -> list[Operand]:
    """Return the inputs, those of fewer axes with axes of size 1 behind the batch."""
    operands = call.operands(least=least)
    rank = max(operand.rank for operand in operands)
    filled = []
    for operand in operands:
        if operand.rank == rank:
            filled.append(operand)
            continue
        value = call.last(operand)
        for _ in range(rank - operand.rank):
            value = call.line("unsqueeze", [value], {"axis": 1})
        filled.append(Operand(value))
    return filled


@layer("Add", "Multiply", "Maximum", "Minimum")
def merged(call: Call) -> Operand:
    operands = _operands(call, 1)
    return operands[0] if len(operands) == 1 else combined(call, _OPERATIONS[call.layer.kind], operands)


@layer("Subtract")
def subtract(call: Call) -> Operand:
    operands = _operands(call)
    if len(operands) != 2:
        raise RuleError("a difference of other than two tensors")
    return combined(call, "sub", operands)


@layer("Average")
def average(call: Call) -> Operand:
    operands = _operands(call, 1)
    total = operands[0] if len(operands) == 1 else combined(call, "add", operands)
    return Operand(call.line("div", [total.value], {"value": float(len(operands))}), total.first)


@layer("Concatenate")
def concatenate(call: Call) -> Operand:
    operands = call.operands()
    return joined(call, operands, call.get("axis", -1))


def joined(call: Call, operands: list[Operand], axis: object) -> Operand:
    """Return tensors joined along an axis in the order of Keras."""
    values, first = call.around.layouts.together(operands)
    own = Operand(values[0], first)
    place = own.axis(front(axis, own.rank))
    if len(values) == 1:
        return own
    return Operand(call.line("concat", values, {"axis": -1 if place == own.rank - 1 else place}), first)


@layer("Dot")
def dot(call: Call) -> Operand:
    """Products over one axis of each tensor, of each sample."""
    operands = call.operands(least=2)
    axes = call.get("axes")
    axes = [axes, axes] if type(axes) is int else axes
    if len(operands) != 2 or not isinstance(axes, list) or len(axes) != 2:
        raise RuleError("axes of two tensors")
    values = [call.last(operand) for operand in operands]
    places = [front(axis, value.type.rank) for axis, value in zip(axes, values, strict=True)]
    if 0 in places:
        raise RuleError("a product over the axis of the batch")
    if call.flag("normalize"):
        values = [
            call.line("normalize", [value], {"axis": place, "eps": 1e-6})
            for value, place in zip(values, places, strict=True)
        ]
    letters = iter("bcdefghijklmnopqrstuvwxyz")
    terms = [
        "".join("a" if axis == 0 else "z" if axis == place else next(letters) for axis in range(value.type.rank))
        for value, place in zip(values, places, strict=True)
    ]
    free = "".join(letter for term in terms for letter in term if letter not in "az")
    result = call.line("einsum", values, {"equation": f"{terms[0]},{terms[1]}->a{free}"})
    return Operand(result if free else call.line("unsqueeze", [result], {"axis": 1}))
