"""Structural equality of bodies, by which equal iterations share one body."""

from __future__ import annotations

from typing import Any

from netcalc.ir import Body, CallNode, CheckpointEntry, Node, OpNode, Value
from netcalc.ir.sketch import SketchedBody


class Structure:
    """A hashable description of a body, which equal bodies share; its hash is computed once."""

    __slots__ = ("_body", "_hash", "_parts")

    def __init__(self, body: Body) -> None:
        self._body = body
        self._parts: Any = None
        self._hash = hash((body.block, body.ports, body.input_types, body.result_types))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Structure) or self._hash != other._hash:
            return False
        if isinstance(self._body, SketchedBody) or isinstance(other._body, SketchedBody):
            return bool(_nested_structure(self._body) == _nested_structure(other._body))
        return bool(self.parts == other.parts)

    @property
    def parts(self) -> Any:
        """The description itself, which is made when two bodies are compared."""
        if self._parts is None:
            self._parts = _structure(self._body)
        return self._parts


class DistinctBodies:
    """The distinct bodies of an elaboration.

    Two bodies are the same if they have the same nodes with the same names, connected in the same way.  The bodies that
    they call are compared by identity, since these were made distinct before.
    """

    def __init__(self) -> None:
        self._known: dict[Structure, Body] = {}

    def distinct(self, body: Body, structure: Structure | None = None) -> Body:
        """Return the first body that is the same as this one, which may be this one."""
        return self._known.setdefault(structure or Structure(body), body)


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
    return (*node[:1], *node[2:]) if len(node) == 7 else (*node[:7], *node[8:])


def _entry(entry: CheckpointEntry) -> tuple[Any, ...]:
    return entry.path, entry.alternatives, entry.optional, repr(sorted(entry.scope.items()))


def _node(node: Node) -> tuple[Any, ...]:
    if isinstance(node, CallNode):
        return node.name, id(node.body), node.times, node.start, node.shares
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
    )
