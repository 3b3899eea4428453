"""Names in the expressions of a text, with their columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from netcalc.expressions import ExpressionError, parse
from netcalc.expressions.tree import Apply, Literal, Name, Node

_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")


class NamePlace(NamedTuple):
    """A name in a text and the column, from 0, where it begins; ``is_path`` for the path in ``value('…')``."""

    name: str
    column: int
    is_path: bool = False


def names_of(text: str, *, is_expression: bool = False) -> Iterator[NamePlace]:
    """Yield the names in the expressions of a text: those in ``${…}``, or in all of it if it is an expression itself.

    Names in an expression with an error are left out.
    """
    if is_expression and "${" not in text:
        yield from _names(text, 0)
        return
    for found in _PLACEHOLDER.finditer(text):
        yield from _names(found[1], found.start(1))


def _names(text: str, start: int) -> Iterator[NamePlace]:
    try:
        pending: list[Node] = [parse(text).root]
    except ExpressionError:
        return
    while pending:
        node = pending.pop()
        if isinstance(node, Name):
            yield NamePlace(node.name, start + node.column)
        elif isinstance(node, Apply) and node.function == "value":
            for item in node.args:
                if isinstance(item, Literal) and isinstance(item.value, str):
                    yield NamePlace(item.value, start + item.column + 1, is_path=True)
        pending += node.children
