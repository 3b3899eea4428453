"""Sizes of PyTorch, which may be symbolic, as sizes of netcalc."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, maximum, minimum

__all__ = ["size_of"]


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
    parts = [_expression(part, symbols) for part in tree.args]
    match type(tree).__name__:
        case "Add":
            return reduce(lambda a, b: a + b, parts)
        case "Mul":
            return reduce(lambda a, b: a * b, parts)
        case "Pow" if isinstance(parts[1], int) and parts[1] > 0:
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
