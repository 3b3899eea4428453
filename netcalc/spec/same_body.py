"""Structural equality of bodies, by which iterations are folded into one call."""

from __future__ import annotations

from netcalc.ir import Body, CallNode, Node, OpNode, Value

__all__ = ["same_body"]


def same_body(a: Body, b: Body) -> bool:
    """Return True if two bodies are the same network with the same names."""
    if a is b:
        return True
    if a.block != b.block or len(a.nodes) != len(b.nodes) or a.input_types != b.input_types:
        return False
    if a.checkpoint != b.checkpoint:
        return False
    counterpart: dict[int, Value | None] = {id(x): y for x, y in zip(a.inputs, b.inputs, strict=True) if x is not None}
    for one, other in zip(a.nodes, b.nodes, strict=True):
        if not _same_node(one, other) or len(one.inputs) != len(other.inputs):
            return False
        expected = [None if x is None else counterpart.get(id(x)) for x in one.inputs]
        if any(x is not y for x, y in zip(expected, other.inputs, strict=True)):
            return False
        counterpart |= {id(x): y for x, y in zip(one.outputs, other.outputs, strict=True)}
    return [counterpart.get(id(x)) for x in a.outputs] == list(b.outputs)


def _same_node(a: Node, b: Node) -> bool:
    if isinstance(a, OpNode) and isinstance(b, OpNode):
        return (a.name, a.op, a.params, a.ties, a.frozen) == (b.name, b.op, b.params, b.ties, b.frozen)
    if isinstance(a, CallNode) and isinstance(b, CallNode):
        same_call = (a.name, a.times, a.start, a.shares) == (b.name, b.times, b.start, b.shares)
        return same_call and same_body(a.body, b.body)
    return False
