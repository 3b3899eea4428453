"""Ranges of whole-number inputs: indices of rows lie within the table that they select from."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.model import Graph, Line
from netcalc.ops import find

__all__ = ["index_ranges"]


def index_ranges(graph: Graph) -> dict[str, list[int]]:
    """Return [0, rows] for each whole-number input that selects rows of tables, the smallest if there are several."""
    origins = {id(value): name for name, value in graph.inputs.items() if value.type.dtype in ("int64", "int32")}
    rows: dict[str, int] = {}
    for line in graph.lines:
        selected = _rows(line)
        for value in line.inputs:
            name = origins.get(id(value))
            if name is None:
                continue
            if selected is not None:
                rows[name] = min(selected, rows.get(name, selected))
            elif _keeps_numbers(line):
                origins |= {id(output): name for output in line.outputs}
    return {name: [0, count] for name, count in rows.items()}


def _rows(line: Line) -> int | None:
    """Return the number of rows of the table that an operation selects from, by its input."""
    count: Any = line.attributes.get("num_embeddings")
    return count if isinstance(count, int) else None


def _keeps_numbers(line: Line) -> bool:
    """Return True for an operation whose output has the numbers of its only input: a view or a conversion."""
    declared = find(line.operation)
    return declared is not None and len(line.inputs) == 1 and (declared.view or line.operation == "cast")
