"""Expression trees as Python functions, for values without surprises.

A function computes what :func:`netcalc.expressions.evaluation.evaluate` computes, several times faster: whole numbers
of ordinary size are computed directly, all else by the same operators.  It checks no more than these do: whatever it
raises, the tree is evaluated again for the error with its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from netcalc.dims.order import RELATIONS
from netcalc.expressions.arithmetic import ARITHMETIC, COMPARE, arithmetic, checked
from netcalc.expressions.functions import FUNCTIONS
from netcalc.expressions.tree import Apply, Attribute, Binary, Choice, Index, List, Literal, Name, Node, Slice, Unary

Function: TypeAlias = Callable[[Mapping[str, Any]], Any]

#: Whole numbers between the negative of this and this are added and multiplied without a check.
_ORDINARY = 1 << 60
_DIRECT = {op: ARITHMETIC[op] for op in ("+", "-", "*", "//", "%")}
_PLAIN = (int, str, bool, type(None))


def function_of(node: Node) -> Function | None:
    """Return the function of a tree, None for one that needs more of its scope than the values of names."""
    if isinstance(node, Apply) and node.function == "value":
        return None
    parts = [function_of(child) for child in node.children]
    if any(part is None for part in parts):
        return None
    return _function(node, *(part for part in parts if part is not None))


def _function(node: Node, *parts: Function) -> Function:
    match node:
        case Literal(value=value):
            return lambda scope: value
        case Name(name=name):
            return lambda scope: scope[name]
        case List():
            return lambda scope: checked([part(scope) for part in parts])
        case Unary(op="not"):
            (operand,) = parts
            return lambda scope: not operand(scope)
        case Unary(op=op):
            (operand,) = parts
            return lambda scope: arithmetic(op, 0, operand(scope))
        case Binary(op=op):
            return _binary(op, *parts)
        case Choice():
            then, test, otherwise = parts
            return lambda scope: then(scope) if test(scope) else otherwise(scope)
        case Attribute(name=name):
            (owner,) = parts
            return lambda scope: _member(owner(scope), name)
        case Index():
            owner, index = parts
            return lambda scope: owner(scope)[index(scope)]
        case Slice(start=start, stop=stop):
            return _slice(parts, has_start=start is not None, has_stop=stop is not None)
        case Apply(function=function):
            called = FUNCTIONS[function]
            return lambda scope: checked(called(*[part(scope) for part in parts]))
    raise AssertionError(node)


def _binary(op: str, left: Function, right: Function) -> Function:
    if op == "and":
        return lambda scope: left(scope) and right(scope)
    if op == "or":
        return lambda scope: left(scope) or right(scope)
    if op in _DIRECT:
        direct = _DIRECT[op]

        def computed(scope: Mapping[str, Any]) -> Any:
            a, b = left(scope), right(scope)
            if type(a) is int and type(b) is int and -_ORDINARY < a < _ORDINARY and -_ORDINARY < b < _ORDINARY:
                return direct(a, b)
            return arithmetic(op, a, b)

        return computed
    if op not in COMPARE:
        return lambda scope: arithmetic(op, left(scope), right(scope))
    compared, general = RELATIONS.get(op), COMPARE[op]
    if compared is None:
        return lambda scope: general(left(scope), right(scope))

    def holds(scope: Mapping[str, Any]) -> Any:
        a, b = left(scope), right(scope)
        return compared(a, b) if type(a) in _PLAIN and type(b) in _PLAIN else general(a, b)

    return holds


def _slice(parts: tuple[Function, ...], *, has_start: bool, has_stop: bool) -> Function:
    owner, *bounds = parts

    def part_of(scope: Mapping[str, Any]) -> Any:
        values = [bound(scope) for bound in bounds]
        first = values[0] if has_start else None
        return checked(owner(scope)[first : values[-1] if has_stop else None])

    return part_of


def _member(value: Any, name: str) -> Any:
    member = getattr(value, "member", None)
    return value.members()[name] if member is None else member(name)
