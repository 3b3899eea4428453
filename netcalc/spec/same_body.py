"""Structural equality of bodies, by which equal iterations share one body."""

from __future__ import annotations

from typing import Any

from netcalc.ir import Body, CallNode, CheckpointEntry, Node, OpNode, Value

__all__ = ["DistinctBodies", "Structure"]


class Structure:
    """A hashable description of a body, which equal bodies share; its hash is computed once."""

    __slots__ = ("_hash", "_parts")

    def __init__(self, body: Body) -> None:
        self._parts = _structure(body)
        self._hash = hash(self._parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and self._hash == other._hash and self._parts == other._parts


class DistinctBodies:
    """The bodies of an elaboration, each network once.

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
