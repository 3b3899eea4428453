"""Values of the formulas of initializers, all elements at once."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from netcalc.verification.references import Array, Shape

__all__ = ["formula_values", "number_at"]

_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: lambda base, exponent: np.asarray(base, np.float64) ** exponent,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "sin": np.sin,
    "cos": np.cos,
    "exp": np.exp,
    "log": np.log,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "min": np.minimum,
    "max": np.maximum,
}


def formula_values(text: str, shape: Shape, path: str) -> Array | None:
    """Return the elements of a parameter whose initial value is a formula; None if it has another syntax than these."""
    count = math.prod(shape)
    names = {"position": np.arange(count), "elements": count, "indices": _indices(path)}
    try:
        with np.errstate(all="ignore"):
            value = _value(ast.parse(text.strip(), mode="eval").body, names)
    except (KeyError, SyntaxError, TypeError):
        return None
    return np.broadcast_to(np.asarray(value, np.float64), (count,)).reshape(shape)


def number_at(text: str, path: str) -> float:
    """Return a number that may be an expression of the numbers in a path."""
    return float(_value(ast.parse(text.strip(), mode="eval").body, {"indices": _indices(path)}))


def _indices(path: str) -> list[int]:
    return [int(part) for part in path.split(".") if part.isdecimal()]


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    def of(part: ast.expr) -> Any:
        return _value(part, names)

    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            return names[name]
        case ast.Subscript(value=owner, slice=index):
            return of(owner)[of(index)]
        case ast.UnaryOp(op=op, operand=operand):
            return _OPERATORS[type(op)](of(operand))
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](of(left), of(right))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _OPERATORS[type(op)](of(left), of(right))
        case ast.IfExp(test=test, body=then, orelse=otherwise):
            return np.where(of(test), of(then), of(otherwise))
        case ast.Call(func=ast.Name(id=function), args=[first, *rest], keywords=[]):
            return _FUNCTIONS[function](of(first), *map(of, rest))
        case _:
            raise TypeError(type(node).__name__)
