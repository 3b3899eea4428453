"""Expressions in which the parts that do not depend on some names are replaced."""

from __future__ import annotations

from collections.abc import Callable, Collection

from netcalc.expressions import tree
from netcalc.expressions.tree import Node, names_of


def rewritten(node: Node, names: Collection[str], replace: Callable[[Node], str]) -> str:
    """Return the text of an expression in which ``replace`` gives the texts of the parts without ``names``."""
    if isinstance(node, tree.Literal):
        return literal(node.value)
    if names_of(node).isdisjoint(names):
        return replace(node)
    parts = [rewritten(child, names, replace) for child in node.children]
    match node:
        case tree.Name(name=name):
            return name
        case tree.List():
            return f"[{', '.join(parts)}]"
        case tree.Unary(op=op):
            return f"({op} {parts[0]})"
        case tree.Binary(op=op):
            return f"({parts[0]} {op} {parts[1]})"
        case tree.Choice():
            return "({} if {} else {})".format(*parts)
        case tree.Attribute(name=name):
            return f"{parts[0]}.{name}"
        case tree.Index():
            return f"{parts[0]}[{parts[1]}]"
        case tree.Slice(start=start, stop=stop):
            owner, *bounds = parts
            first = bounds[0] if start is not None else ""
            return f"{owner}[{first}:{bounds[-1] if stop is not None else ''}]"
        case tree.Apply(function=function):
            return f"{function}({', '.join(parts)})"
    raise AssertionError(node)


def literal(value: object) -> str:
    """Return a number, text, truth value, list of these or None as it is written in an expression.

    Raises:
        ValueError: a value of another kind, or a text with quotes of both kinds or a backslash.
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        quote = "'" if "'" not in value else '"'
        if quote in value or "\\" in value:
            raise ValueError(f"no literal of {value!r}")
        return f"{quote}{value}{quote}"
    if isinstance(value, (int, float)):
        text = repr(value)
        if not text[-1].isdigit():
            raise ValueError(f"no literal of {text}")
        return f"({text})" if text.startswith("-") else text
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(literal, value))}]"
    raise ValueError(f"no literal of {value!r}")
