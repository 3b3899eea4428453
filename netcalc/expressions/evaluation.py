"""Evaluation of expression trees."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any

from netcalc.dims import Poly, UndecidedError, required
from netcalc.dims.order import RELATIONS
from netcalc.expressions.arithmetic import COMPARE, arithmetic, checked
from netcalc.expressions.errors import ExpressionError
from netcalc.expressions.functions import FUNCTIONS
from netcalc.expressions.tree import Apply, Attribute, Binary, Choice, Index, List, Literal, Name, Node, Slice, Unary


def evaluate(node: Node, scope: Mapping[str, Any]) -> Any:
    """Return the value with names looked up in ``scope``; ExpressionError (E202, E203, E404) if there is none."""
    try:
        return _value(node, scope)
    except ExpressionError:
        raise
    except ZeroDivisionError:
        raise ExpressionError("division by zero", node.column, code="E203") from None
    except UndecidedError as why:
        raise ExpressionError(why.message, node.column, code="E404") from None
    except (TypeError, ValueError, OverflowError, IndexError, KeyError, AttributeError) as why:
        raise ExpressionError(_reason(node, why), node.column, code="E203") from None


def holds(node: Node, scope: Mapping[str, Any]) -> bool:
    """Return True if a condition holds; raises as :func:`evaluate` does.

    A relation between symbolic sizes that bounds leave open is assumed to hold, unless the default sizes contradict it.
    """
    if not isinstance(node, Binary):
        return bool(evaluate(node, scope))
    if node.op == "and":
        return holds(node.left, scope) and holds(node.right, scope)
    if node.op == "or":
        return holds(node.left, scope) or holds(node.right, scope)
    if node.op not in RELATIONS:
        return bool(evaluate(node, scope))
    sides = left, right = evaluate(node.left, scope), evaluate(node.right, scope)
    if any(isinstance(side, Poly) for side in sides) and all(isinstance(side, (int, Poly)) for side in sides):
        return required(left, node.op, right)
    return bool(evaluate(node, scope))


def _reason(node: Node, why: Exception) -> str:
    match node, why:
        case _, KeyError():
            return f"no entry {why}"
        case _, OverflowError():
            return "the result is too large"
        case ((Unary(op=name) | Binary(op=name)), TypeError()):
            return f"{name!r} does not take these: {why}"
        case Apply(function=name), _:
            return f"{name}: {why}"
    return str(why)


def _value(node: Node, scope: Mapping[str, Any]) -> Any:
    match node:
        case Literal(value=value):
            return value
        case Name(name=name):
            if name not in scope:
                raise ExpressionError(f"unknown name {name!r}", node.column, code="E202", name=name)
            return scope[name]
        case List(items=items):
            return checked([evaluate(item, scope) for item in items])
        case Unary(op="not", operand=operand):
            return not evaluate(operand, scope)
        case Unary(op=op, operand=operand):
            return arithmetic(op, 0, evaluate(operand, scope))
        case Binary():
            return _binary(node, scope)
        case Choice(then=then, test=test, otherwise=otherwise):
            return evaluate(then if evaluate(test, scope) else otherwise, scope)
        case Attribute(value=value, name=name):
            return _attribute(evaluate(value, scope), name, node.column)
        case Index(value=value, index=index):
            return _item(evaluate(value, scope), evaluate(index, scope))
        case Slice(value=value, start=start, stop=stop):
            first, end = (None if bound is None else evaluate(bound, scope) for bound in (start, stop))
            return checked(evaluate(value, scope)[first:end])
        case Apply(function="value"):
            return _value_named(node, scope)
        case Apply(function=function, args=args):
            return checked(FUNCTIONS[function](*(evaluate(arg, scope) for arg in args)))
    raise AssertionError(node)


def _value_named(node: Apply, scope: Mapping[str, Any]) -> Any:
    """Return what ``value('path')`` refers to, which only a scope with values knows."""
    type_named = getattr(scope, "type_named", None)
    if type_named is None:
        raise ExpressionError("value() can be used only in the lines of a network", node.column, code="E203")
    names = [evaluate(arg, scope) for arg in node.args]
    if len(names) != 1 or not isinstance(names[0], str):
        raise ExpressionError("value() takes the path of a value in quotes", node.column, code="E203")
    return type_named(names[0])


def _item(value: Any, index: Any) -> Any:
    try:
        return value[index]
    except IndexError:
        items = f"{len(value)} {'item' if len(value) == 1 else 'items'}"
        raise IndexError(f"index {index} is past the end of {items}, which are counted from 0") from None


def _attribute(value: Any, name: str, column: int) -> Any:
    members = getattr(value, "members", None)
    if not callable(members):
        raise ExpressionError(f"{reprlib.repr(value)} has no attribute {name!r}", column, code="E203")
    attributes: Mapping[str, Any] = members()
    if name not in attributes:
        raise ExpressionError(
            f"no attribute {name!r}; there are {', '.join(attributes)}", column, code="E202", name=name
        )
    return attributes[name]


def _binary(node: Binary, scope: Mapping[str, Any]) -> Any:
    left = evaluate(node.left, scope)
    if node.op == "and":
        return left and evaluate(node.right, scope)
    if node.op == "or":
        return left or evaluate(node.right, scope)
    right = evaluate(node.right, scope)
    if node.op in COMPARE:
        return COMPARE[node.op](left, right)
    return arithmetic(node.op, left, right)
