"""Operators, with limits on the size of their results."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from netcalc.dims import Poly, RealFormula, SymbolicReal, equal, in_sketch, keeps_formulas, real_arithmetic, spend
from netcalc.dims.order import RELATIONS
from netcalc.expressions.errors import limit_bits, limit_items


def _equal(a: Any, b: Any) -> bool:
    """Return True if two values are equal; symbolic sizes are compared by value, also within lists."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        spend(len(a))
        return len(a) == len(b) and all(map(_equal, a, b))
    if any(isinstance(x, Poly) for x in (a, b)) and all(isinstance(x, (int, Poly)) for x in (a, b)):
        return equal(a, b)
    for real, other in ((a, b), (b, a)):
        if isinstance(real, RealFormula) and isinstance(other, (int, float, Poly)):
            return real.equals(other)
    return bool(a == b)


def _contains(item: Any, values: Any) -> bool:
    if isinstance(values, (list, tuple)):
        spend(len(values))
        return any(_equal(item, value) for value in values)
    return item in values


COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    **RELATIONS,
    "==": _equal,
    "!=": lambda a, b: not _equal(a, b),
    "in": _contains,
    "not in": lambda a, b: not _contains(a, b),
}
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}


def arithmetic(op: str, left: Any, right: Any) -> Any:
    """Return the result of an arithmetic operator; TypeError or ValueError if there is none or it is too large."""
    for operand, other in ((left, right), (right, left)):
        if isinstance(operand, bool) or operand is None:
            raise TypeError(f"{'null' if operand is None else str(operand).lower()} is not a number")
        if isinstance(operand, Poly) and keeps_formulas() and (op == "/" or type(other) is float):
            return real_arithmetic(op, left, right)
        if op == "**" and isinstance(operand, Poly) and keeps_formulas() and not isinstance(right, int):
            return real_arithmetic(op, left, right)
        if op == "*" and isinstance(operand, Poly) and type(other) is float and in_sketch():
            product = SymbolicReal.product(operand, other)
            if product is not None:
                return product
        if isinstance(operand, Poly) and op == "*" and isinstance(other, (list, tuple, str)):
            raise TypeError(f"{operand} is a symbolic size, and the length of a list has to be a number")
        if isinstance(operand, Poly) and (op == "/" or not isinstance(other, (int, Poly, RealFormula))):
            raise TypeError(f"{operand} is a symbolic size, which takes whole numbers and //")
        if isinstance(operand, str) and op == "%":
            raise TypeError("a text is not a number")
        if isinstance(operand, (list, tuple, str)) and op == "*" and isinstance(other, int):
            limit_items(_count(operand) * other)
    if op == "**" and isinstance(left, int) and isinstance(right, int):
        limit_bits((left.bit_length() - 1) * right)
    result = ARITHMETIC[op](left, right)
    if isinstance(result, complex):
        raise ValueError(f"{left} has no real power {right}")
    return checked(result)


def checked(value: Any) -> Any:
    """Return ``value``; ValueError if it is too large."""
    if isinstance(value, int):
        limit_bits(value.bit_length())
    if isinstance(value, (str, list, tuple)):
        items = _count(value)
        limit_items(items)
        spend(items)
    return value


def _count(value: Any) -> int:
    """Return the number of characters or items, including the items of nested lists."""
    if isinstance(value, str):
        return len(value)
    return len(value) + sum(map(_count, value)) if isinstance(value, (list, tuple)) else 0
