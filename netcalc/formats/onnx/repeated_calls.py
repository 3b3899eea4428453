"""Numbers of the calls of modules, which names of nodes do not tell apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from netcalc.formats.graph.model import Graph, Line


def number_calls(graph: Graph) -> None:
    """Number the calls of each module whose lines, one after the other, are the same ones several times.

    These have the same operations on the same stored tensors, each of which is used once by every call.
    """
    held: dict[str, list[int]] = {}
    for place, line in enumerate(graph.lines):
        for call in line.scope:
            held.setdefault(call.path, []).append(place)
    numbered: list[str] = []
    for path in sorted(held, key=len):  # the outermost first, with those within
        places = held[path]
        if places[-1] - places[0] + 1 != len(places) or any(path.startswith(f"{outer}.") for outer in numbered):
            continue
        lines = graph.lines[places[0] : places[-1] + 1]
        starts = _starts(lines)
        if len(starts) > 1:
            numbered.append(path)
            _number(lines, starts, path)


def _starts(lines: Sequence[Line]) -> list[int]:
    """Return where each of some equal calls begins; the first place alone for one that is not repeated."""
    computing = [place for place, line in enumerate(lines) if line.inputs]  # constants stand before their first use
    kinds = [_kind(lines[place]) for place in computing]
    uses = Counter(stored for _, parameters, _ in kinds for _, stored in parameters)
    calls = min(uses.values(), default=1)
    size = len(kinds) // calls
    if calls < 2 or len(kinds) % calls or any(kinds[at] != kinds[at % size] for at in range(len(kinds))):
        return [0]
    return [0, *(computing[at] for at in range(size, len(kinds), size))]


def _kind(line: Line) -> tuple[str, tuple[Any, ...], tuple[str, ...]]:
    return line.operation, tuple(sorted(line.parameters.items())), tuple(call.path for call in line.scope)


def _number(lines: Sequence[Line], starts: Sequence[int], path: str) -> None:
    """Give the calls of a module, and of those within it, the number of the call that a line belongs to."""
    number = -1
    for place, line in enumerate(lines):
        number += place in starts
        line.scope = tuple(
            call._replace(number=number) if call.path == path or call.path.startswith(f"{path}.") else call
            for call in line.scope
        )
