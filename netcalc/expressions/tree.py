"""The tree of an expression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from netcalc.expressions.limits import MAX_DEPTH, too_deep


# Equality is identity: parse() remembers the trees it made.
@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An expression or a part of one; ``column`` is where it starts, ``height`` how deep it is."""

    column: int
    height: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        height = 1 + max((child.height for child in self.children()), default=0)
        if height > MAX_DEPTH:
            raise too_deep(self.column)
        object.__setattr__(self, "height", height)

    def children(self) -> Iterator[Node]:
        """The parts, in the order written."""
        yield from ()


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Node):
    """A number, a string, a truth value or null."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Name(Node):
    """A name, looked up in the scope."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class List(Node):
    """``[a, b]``."""

    items: tuple[Node, ...]

    def children(self) -> Iterator[Node]:
        yield from self.items


@dataclass(frozen=True, slots=True, eq=False)
class Unary(Node):
    """A prefix: ``-``, ``+`` or ``not``."""

    op: str
    operand: Node

    def children(self) -> Iterator[Node]:
        yield self.operand


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Node):
    """Arithmetic, comparison, ``and`` or ``or``."""

    op: str
    left: Node
    right: Node

    def children(self) -> Iterator[Node]:
        yield self.left
        yield self.right


@dataclass(frozen=True, slots=True, eq=False)
class Choice(Node):
    """``then if test else otherwise``."""

    then: Node
    test: Node
    otherwise: Node

    def children(self) -> Iterator[Node]:
        yield self.then
        yield self.test
        yield self.otherwise


@dataclass(frozen=True, slots=True, eq=False)
class Attribute(Node):
    """``value.name``."""

    value: Node
    name: str

    def children(self) -> Iterator[Node]:
        yield self.value


@dataclass(frozen=True, slots=True, eq=False)
class Index(Node):
    """``value[index]``."""

    value: Node
    index: Node

    def children(self) -> Iterator[Node]:
        yield self.value
        yield self.index


@dataclass(frozen=True, slots=True, eq=False)
class Slice(Node):
    """``value[start:stop]``; either end may be left out."""

    value: Node
    start: Node | None
    stop: Node | None

    def children(self) -> Iterator[Node]:
        yield self.value
        yield from (bound for bound in (self.start, self.stop) if bound is not None)


@dataclass(frozen=True, slots=True, eq=False)
class Apply(Node):
    """``function(args)``."""

    function: str
    args: tuple[Node, ...]

    def children(self) -> Iterator[Node]:
        yield from self.args


def names_of(node: Node) -> frozenset[str]:
    """The names that occur in the expression."""
    own = {node.name} if isinstance(node, Name) else set()
    return frozenset(own.union(*(names_of(child) for child in node.children())))
