"""Lines in an order in which most follow the line whose output they use."""

from __future__ import annotations

from netcalc.formats.graph.model import Graph, Line, Scope, Value


def put_in_sequence(graph: Graph) -> None:
    """Put each line with a single input behind the line that makes it for this line alone.

    That line is of the same module, or the last one of a module that this one calls.
    """
    users = dict.fromkeys(graph.results, 1)
    makers: dict[Value, Line] = {}
    ends: dict[Scope, Line] = {}
    for line in graph.lines:
        makers.update(dict.fromkeys(line.outputs, line))
        ends.update((line.scope[:depth], line) for depth in range(1, len(line.scope) + 1))
        for value in line.inputs:
            if value is not None:
                users[value] = users.get(value, 0) + 1
    following: dict[Line, Line] = {}
    for line in graph.lines:
        maker = makers.get(line.inputs[0]) if len(line.inputs) == 1 and line.inputs[0] is not None else None
        if maker is None or len(maker.outputs) > 1 or users[maker.outputs[0]] > 1:
            continue
        depth = len(line.scope)
        called = maker.scope[:depth] == line.scope and ends.get(maker.scope[: depth + 1]) is maker
        if maker.scope == line.scope or called:
            following[maker] = line
    moved = set(following.values())
    lines: list[Line] = []
    for line in graph.lines:
        current: Line | None = None if line in moved else line
        while current is not None:
            lines.append(current)
            current = following.get(current)
    graph.lines = lines
