"""Last uses of the values of a body."""

from __future__ import annotations

from netcalc.ir import Body, Value


def dying(body: Body, *, held: bool = False) -> list[tuple[Value, ...]]:
    """Return, for each node, the values that are not used after it, including its own unused outputs.

    The outputs of the body are never listed, nor are inputs that no node uses.  With ``held`` the values that a node
    holds in eager mode are used by it.
    """
    last: dict[Value, int] = {}
    for position, node in enumerate(body.nodes):
        last.update((value, position) for value in (*node.inputs, *node.outputs) if value is not None)
        last.update((value, position) for value in node.holds if held)
    outputs = set(body.outputs)
    dead: list[list[Value]] = [[] for _ in body.nodes]
    for value, position in last.items():
        if value not in outputs:
            dead[position].append(value)
    return [tuple(values) for values in dead]
