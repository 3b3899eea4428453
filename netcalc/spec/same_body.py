"""Structural equality of bodies, by which equal iterations share one body."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from netcalc.ir import Body, CallNode, CheckpointEntry, Node, OpNode, Value
from netcalc.ir.sketch import SketchedBody

_apart: ContextVar[bool] = ContextVar("_apart", default=False)


@contextmanager
def sketches_apart() -> Iterator[None]:
    """Take bodies of different sketches or sizes for different ones inside the block, without making their nodes.

    Figures are the same either way; iterations that are equal may be calls of their own.
    """
    token = _apart.set(True)
    try:
        yield
    finally:
        _apart.reset(token)


def are_sketches_apart() -> bool:
    """Return True inside a block of :func:`sketches_apart`."""
    return _apart.get()


class Structure:
    """A description of a body, which equal bodies share."""

    __slots__ = ("_parts", "body", "types")

    def __init__(self, body: Body) -> None:
        self.body = body
        self.types = (body.block, body.ports, body.input_types, body.result_types)
        self._parts: Any = None

    @property
    def is_sketched(self) -> bool:
        """True for a body whose nodes may not have been made."""
        return isinstance(self.body, SketchedBody)

    @property
    def parts(self) -> Any:
        """The description itself, which is hashable and made when it is first needed."""
        if self._parts is None:
            self._parts = _structure(self.body)
        return self._parts

    def is_same(self, other: Structure) -> bool:
        """Return True if both describe the same body, where one of them may be sketched."""
        if _apart.get():
            return self.types == other.types and _origin(self.body) == _origin(other.body)
        return self.types == other.types and bool(_nested_structure(self.body) == _nested_structure(other.body))


def _origin(body: Body) -> Any:
    """Return what makes a body one of a sketch, with which it is compared."""
    return (id(body.sketch), body.sizes) if isinstance(body, SketchedBody) else id(body)


class DistinctBodies:
    """The distinct bodies of an elaboration.

    Two bodies are the same if they have the same nodes with the same names, connected in the same way.  The bodies that
    they call are compared by identity, since these were made distinct before; those of a sketched body have not been.
    """

    def __init__(self) -> None:
        self._by_types: dict[Any, _OfEqualTypes] = {}

    def distinct(self, body: Body, structure: Structure | None = None) -> Body:
        """Return the first body that is the same as this one, which may be this one."""
        structure = structure or Structure(body)
        others = self._by_types.get(structure.types)
        if others is None:
            self._by_types[structure.types] = _OfEqualTypes(structure)
            return body
        return others.distinct(structure)


class _OfEqualTypes:
    """Distinct bodies whose inputs and outputs have the same types."""

    def __init__(self, first: Structure) -> None:
        self._structures = [first]
        self._by_parts: dict[Any, Body] = {}  # the bodies that are not sketched, once there are two

    def distinct(self, structure: Structure) -> Body:
        """Return the first body with this structure, whose own body is added if there is none."""
        if len(self._structures) == 1:
            self._index(self._structures[0])
        same = None if structure.is_sketched else self._by_parts.get(structure.parts)
        if same is None:
            others = (other for other in self._structures if structure.is_sketched or other.is_sketched)
            same = next((other.body for other in others if other.is_same(structure)), None)
        if same is None:
            self._structures.append(structure)
            self._index(structure)
        return same or structure.body

    def _index(self, structure: Structure) -> None:
        if not structure.is_sketched:
            self._by_parts[structure.parts] = structure.body


def _structure(body: Body) -> tuple[Any, ...]:
    """Return a hashable description that equal bodies share; values are numbered in the order of their definition."""
    numbers: dict[Value, int] = {}
    for value in body.inputs:
        if value is not None:
            numbers[value] = len(numbers)
    nodes = []
    for node in body.nodes:
        held = tuple(numbers.get(v) for v in node.holds)
        nodes.append((*_node(node), tuple(None if v is None else numbers.get(v) for v in node.inputs), held))
        for value in node.outputs:
            numbers[value] = len(numbers)
    outputs = tuple(numbers.get(value) for value in body.outputs)
    return body.block, body.ports, body.input_types, tuple(nodes), outputs, tuple(map(_entry, body.checkpoint.entries))


def _nested_structure(body: Body) -> Any:
    """Return the structure of a body, including the structures of the bodies that it calls or computes."""
    inner = [node.body if isinstance(node, CallNode) else node.computed for node in body.nodes]
    block, ports, types, nodes, *rest = _structure(body)
    plain = tuple([_without_identity(node) for node in nodes])
    nested = tuple([None if part is None else _nested_structure(part) for part in inner])
    return block, ports, types, plain, *rest, nested


def _without_identity(node: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the description of a node without the identity of another body."""
    return (*node[:1], *node[2:]) if len(node) == 8 else (*node[:7], *node[8:])


def _entry(entry: CheckpointEntry) -> tuple[Any, ...]:
    return entry.path, entry.alternatives, entry.optional, repr(sorted(entry.scope.items())), entry.reference


def _node(node: Node) -> tuple[Any, ...]:
    if isinstance(node, CallNode):
        return node.name, id(node.body), node.times, node.start, node.shares, node.module
    assert isinstance(node, OpNode)
    # an operation is equal to one of another kind of number (1 and True), so its type is compared too
    return (
        node.name,
        type(node.op),
        node.op,
        node.params,
        tuple(node.ties.items()),
        node.frozen,
        node.inplace,
        id(node.computed),
        node.module,
    )
