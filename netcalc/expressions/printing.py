"""Expression trees in mathematical notation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from netcalc.dims import Poly
from netcalc.expressions.arithmetic import ARITHMETIC, COMPARE
from netcalc.expressions.errors import ExpressionError
from netcalc.expressions.evaluation import evaluate
from netcalc.expressions.parser import BINDING, NOT, SIGN, Parser
from netcalc.expressions.tree import (
    Apply,
    Attribute,
    Binary,
    Choice,
    Index,
    List,
    Literal,
    Name,
    Node,
    Slice,
    Unary,
    names_of,
)

_SIGNS = {"*": "·", "-": "−", "<=": "≤", ">=": "≥", "!=": "≠", "==": "="}
_SUM, _ATOM = 5, 9  # precedence of sums and single values


def pretty(node: Node, bindings: Mapping[str, Any], least: int) -> str:
    """Return the text of a node, in parentheses if its precedence is below ``least``."""
    text, binds = _text_and_precedence(node, bindings)
    return f"({text})" if binds < least else text


def _text_and_precedence(node: Node, bindings: Mapping[str, Any]) -> tuple[str, int]:
    match node:
        case Literal(value=value):
            return _number(value), _ATOM
        case Name(name=name) if name not in bindings:
            return name, _ATOM
        case Name() | Attribute() | Index() | Slice() if names_of(node) <= bindings.keys():
            return _value_and_precedence(evaluate(node, bindings))
        case List(items=items):
            return "[" + ", ".join(pretty(i, bindings, 0) for i in items) + "]", _ATOM
        case Unary(op="not", operand=operand):
            return "not " + pretty(operand, bindings, NOT), NOT
        case Unary(op=op, operand=operand):
            return _SIGNS.get(op, op) + pretty(operand, bindings, SIGN + 1), SIGN
        case Binary(op="//", left=left, right=right):
            return f"⌊{pretty(left, bindings, 6)}/{pretty(right, bindings, 7)}⌋", _ATOM
        case Binary(op="%", left=left, right=right):
            # in parentheses wherever something stands beside it, as readers differ on how it binds
            return f"{pretty(left, bindings, 6)} mod {pretty(right, bindings, 7)}", BINDING["=="]
        case Binary(op=op, left=left, right=right):
            binds = BINDING[op]
            sign = _SIGNS.get(op, op) if binds > _SUM else f" {_SIGNS.get(op, op)} "
            # ** groups to the right, comparisons not at all, all others to the left
            first = pretty(left, bindings, binds + (op == "**" or op in COMPARE))
            second = pretty(right, bindings, binds + (op != "**"))
            if second.startswith("−") and op in ARITHMETIC:
                second = f"({second})"
            return first + sign + second, binds
        case Choice(then=then, test=test, otherwise=otherwise):
            first, middle = (pretty(part, bindings, 1) for part in (then, test))
            return f"{first} if {middle} else {pretty(otherwise, bindings, 0)}", 0
        case Attribute(value=value, name=name):
            return f"{pretty(value, bindings, _ATOM)}.{name}", _ATOM
        case Index(value=value, index=index):
            return f"{pretty(value, bindings, _ATOM)}[{pretty(index, bindings, 0)}]", _ATOM
        case Slice(value=value, start=start, stop=stop):
            first, end = ("" if bound is None else pretty(bound, bindings, 0) for bound in (start, stop))
            return f"{pretty(value, bindings, _ATOM)}[{first}:{end}]", _ATOM
        case Apply(function="ceil_div", args=(left, right)):
            return f"⌈{pretty(left, bindings, 6)}/{pretty(right, bindings, 7)}⌉", _ATOM
        case Apply(function=function, args=args):
            return f"{function}({', '.join(pretty(a, bindings, 0) for a in args)})", _ATOM
    raise AssertionError(node)


def _value_and_precedence(value: Any) -> tuple[str, int]:
    """Return the text of a value and its precedence."""
    if isinstance(value, Poly):
        try:
            return _text_and_precedence(Parser(str(value)).whole(), {})
        except ExpressionError:  # longer than an expression may be
            return str(value), _SUM
    text = _number(value)
    return text, SIGN if text.startswith("−") else _ATOM if _is_atom(text) else _SUM


def _is_atom(text: str) -> bool:
    """Return True for a number, a name, a text or a list, which need no parentheses."""
    return text.isidentifier() or re.fullmatch(r"[\w.,]+|[\[\"].*", text) is not None


def _number(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_value_and_precedence(item)[0] for item in value)}]"
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return text.replace("-", "−", 1) if text.startswith("-") else text
