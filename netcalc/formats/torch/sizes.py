"""Sizes of PyTorch, which may be symbolic, as sizes of netcalc."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import reduce
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, ceil_div, maximum, minimum, product

#: Functions of PyTorch that make a size of a number.
ROUNDINGS = ("FloorToInt", "TruncToInt", "CeilToInt")

#: Fractions in place of numbers such as 0.7, which a float is not exactly.
_LARGEST_DENOMINATOR = 10**6


def size_of(size: Any, symbols: Mapping[str, Dim]) -> Dim:
    """Return a size of PyTorch, an int or SymInt, by the named sizes that its symbols stand for.

    Raises:
        RuleError: for a size that depends on values, and for a function of sizes that netcalc does not know.
    """
    if isinstance(size, int):
        return size
    return _expression(size.node.expr, symbols)


def _expression(tree: Any, symbols: Mapping[str, Dim]) -> Dim:
    if tree.is_Integer:
        return int(tree)
    if tree.is_Symbol:
        if tree.name not in symbols:
            raise RuleError(f"the size {tree.name} depends on the values of a tensor")
        return symbols[tree.name]
    kind = type(tree).__name__
    if kind in ROUNDINGS:  # sizes are not negative
        above, below = _ratio(tree.args[0], symbols)
        return ceil_div(above, below) if kind == "CeilToInt" else above // below
    parts = [_expression(part, symbols) for part in tree.args]
    match kind:
        case "Add":
            return reduce(lambda a, b: a + b, parts)
        case "Mul":
            return reduce(lambda a, b: a * b, parts)
        case "Pow" | "PowByNatural" if isinstance(parts[1], int) and parts[1] > 0:
            return parts[0] ** parts[1]
        case "FloorDiv" | "CleanDiv":
            return parts[0] // parts[1]
        case "Mod" | "PythonMod":
            return parts[0] % parts[1]
        case "Max":
            return reduce(maximum, parts)
        case "Min":
            return reduce(minimum, parts)
    raise RuleError(f"the size {tree} is no polynomial of named sizes")


def _ratio(tree: Any, symbols: Mapping[str, Dim]) -> tuple[Dim, Dim]:
    """Return numerator and denominator of a number that a size is rounded from, such as 7/10 of 0.7."""
    if tree.is_Number:
        number = Fraction(float(tree)).limit_denominator(_LARGEST_DENOMINATOR)
        if float(number) != float(tree):
            raise RuleError(f"the number {tree} is no ratio of small numbers")
        return number.numerator, number.denominator
    match type(tree).__name__:
        case "ToFloat":
            return _ratio(tree.args[0], symbols)
        case "IntTrueDiv" | "FloatTrueDiv":
            (above, below), (other_above, other_below) = (_ratio(part, symbols) for part in tree.args)
            return above * other_below, below * other_above
        case "Mul":
            parts = [_ratio(part, symbols) for part in tree.args]
            return product(above for above, _ in parts), product(below for _, below in parts)
        case "Add":
            return reduce(
                lambda a, b: (a[0] * b[1] + b[0] * a[1], a[1] * b[1]), (_ratio(p, symbols) for p in tree.args)
            )
    return _expression(tree, symbols), 1
