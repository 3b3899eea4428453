"""The tree of an expression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from netcalc.expressions.limits import MAX_DEPTH, too_deep


# Equality is identity: parse() remembers the trees it made.
@dataclass(frozen=True, slots=True, eq=False)
class Node:
    column: int
    height: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        height = 1 + max((child.height for child in self.children()), default=0)
        if height > MAX_DEPTH:
            raise too_deep(self.column)
        object.__setattr__(self, "height", height)

    def children(self) -> Iterator[Node]:
        yield from ()


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Node):
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Name(Node):
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class List(Node):
    items: tuple[Node, ...]

    def children(self) -> Iterator[Node]:
        yield from self.items


@dataclass(frozen=True, slots=True, eq=False)
class Unary(Node):
    op: str
    operand: Node

    def children(self) -> Iterator[Node]:
        yield self.operand


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Node):
    op: str
    left: Node
    right: Node

    def children(self) -> Iterator[Node]:
        yield self.left
        yield self.right


@dataclass(frozen=True, slots=True, eq=False)
class Choice(Node):
    then: Node
    test: Node
    otherwise: Node

    def children(self) -> Iterator[Node]:
        yield self.then
        yield self.test
        yield self.otherwise


@dataclass(frozen=True, slots=True, eq=False)
class Attribute(Node):
    value: Node
    name: str

    def children(self) -> Iterator[Node]:
        yield self.value


@dataclass(frozen=True, slots=True, eq=False)
class Index(Node):
    value: Node
    index: Node

    def children(self) -> Iterator[Node]:
        yield self.value
        yield self.index


@dataclass(frozen=True, slots=True, eq=False)
class Slice(Node):
    value: Node
    start: Node | None
    stop: Node | None

    def children(self) -> Iterator[Node]:
        yield self.value
        yield from (bound for bound in (self.start, self.stop) if bound is not None)


@dataclass(frozen=True, slots=True, eq=False)
class Apply(Node):
    function: str
    args: tuple[Node, ...]

    def children(self) -> Iterator[Node]:
        yield from self.args


def names_of(node: Node) -> frozenset[str]:
    own = {node.name} if isinstance(node, Name) else set()
    return frozenset(own.union(*(names_of(child) for child in node.children())))
