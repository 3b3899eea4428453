"""Nodes of expression trees."""

from __future__ import annotations

from typing import Any

from netcalc.expressions.errors import too_deep
from netcalc.limits import MAX_EXPRESSION_DEPTH


# Equality is identity: parse() caches trees.
class Node:
    """An expression or a part of one.

    ``column`` is its position in the text, ``children`` its parts in the order written, ``height`` its depth.
    """

    __slots__ = ("children", "column", "height")

    def __init__(self, column: int, *children: Node) -> None:
        self.column = column
        self.children = children
        self.height: int = 1 + max((child.height for child in children), default=0)
        if self.height > MAX_EXPRESSION_DEPTH:
            raise too_deep(column)


class Literal(Node):
    """A number, a string, a truth value or null."""

    __slots__ = ("value",)

    def __init__(self, column: int, value: Any) -> None:
        super().__init__(column)
        self.value = value


class Name(Node):
    """A name, looked up in the scope."""

    __slots__ = ("name",)

    def __init__(self, column: int, name: str) -> None:
        super().__init__(column)
        self.name = name


class List(Node):
    """``[a, b]``."""

    __slots__ = ("items",)

    def __init__(self, column: int, items: tuple[Node, ...]) -> None:
        super().__init__(column, *items)
        self.items = items


class Unary(Node):
    """A prefix: ``-``, ``+`` or ``not``."""

    __slots__ = ("op", "operand")

    def __init__(self, column: int, op: str, operand: Node) -> None:
        super().__init__(column, operand)
        self.op, self.operand = op, operand


class Binary(Node):
    """Arithmetic, comparison, ``and`` or ``or``."""

    __slots__ = ("left", "op", "right")

    def __init__(self, column: int, op: str, left: Node, right: Node) -> None:
        super().__init__(column, left, right)
        self.op, self.left, self.right = op, left, right


class Choice(Node):
    """``then if test else otherwise``."""

    __slots__ = ("otherwise", "test", "then")

    def __init__(self, column: int, then: Node, test: Node, otherwise: Node) -> None:
        super().__init__(column, then, test, otherwise)
        self.then, self.test, self.otherwise = then, test, otherwise


class Attribute(Node):
    """``value.name``."""

    __slots__ = ("name", "value")

    def __init__(self, column: int, value: Node, name: str) -> None:
        super().__init__(column, value)
        self.value, self.name = value, name


class Index(Node):
    """``value[index]``."""

    __slots__ = ("index", "value")

    def __init__(self, column: int, value: Node, index: Node) -> None:
        super().__init__(column, value, index)
        self.value, self.index = value, index


class Slice(Node):
    """``value[start:stop]``; either end may be left out."""

    __slots__ = ("start", "stop", "value")

    def __init__(self, column: int, value: Node, start: Node | None, stop: Node | None) -> None:
        super().__init__(column, value, *(bound for bound in (start, stop) if bound is not None))
        self.value, self.start, self.stop = value, start, stop


class Apply(Node):
    """``function(args)``."""

    __slots__ = ("args", "function")

    def __init__(self, column: int, function: str, args: tuple[Node, ...]) -> None:
        super().__init__(column, *args)
        self.function, self.args = function, args


def names_of(node: Node) -> frozenset[str]:
    """Return the names that occur in an expression."""
    own = {node.name} if isinstance(node, Name) else set()
    return frozenset(own.union(*(names_of(child) for child in node.children)))
