"""When the values of a body are last needed."""

from __future__ import annotations

from netcalc.ir import Body, Value


def dying(body: Body) -> list[tuple[Value, ...]]:
    """For each node, the values that nothing needs once it has run, its own unused outputs among them.

    What the body returns never dies.  A body input that no node takes is not listed.
    """
    last: dict[Value, int] = {}
    for position, node in enumerate(body.nodes):
        last.update((value, position) for value in (*node.inputs, *node.outputs) if value is not None)
    kept = set(body.outputs)
    dead: list[list[Value]] = [[] for _ in body.nodes]
    for value, position in last.items():
        if value not in kept:
            dead[position].append(value)
    return [tuple(values) for values in dead]
