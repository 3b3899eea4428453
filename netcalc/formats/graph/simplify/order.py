"""Lines in an order in which most follow the line whose output they use."""

from __future__ import annotations

from netcalc.formats.graph.model import Graph, Line, Value

__all__ = ["put_in_sequence"]


def put_in_sequence(graph: Graph) -> None:
    """Put each line with a single input behind the line of its module that makes it for this line alone."""
    users: dict[Value, int] = {value: 1 for value in graph.outputs.values()}
    makers: dict[Value, Line] = {}
    for line in graph.lines:
        makers.update(dict.fromkeys(line.outputs, line))
        for value in line.inputs:
            if value is not None:
                users[value] = users.get(value, 0) + 1
    following: dict[Line, Line] = {}
    for line in graph.lines:
        maker = makers.get(line.inputs[0]) if len(line.inputs) == 1 and line.inputs[0] is not None else None
        if maker is not None and len(maker.outputs) == 1 and users[maker.outputs[0]] == 1 and maker.scope == line.scope:
            following[maker] = line
    moved = set(following.values())
    lines: list[Line] = []
    for line in graph.lines:
        one: Line | None = None if line in moved else line
        while one is not None:
            lines.append(one)
            one = following.get(one)
    graph.lines = lines
