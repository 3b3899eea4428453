"""Removal of lines whose results nothing uses."""

from __future__ import annotations

from netcalc.formats.graph.model import Graph

__all__ = ["remove_unused"]


def remove_unused(graph: Graph) -> None:
    """Remove the lines of a graph on which none of its outputs depends."""
    used = set(graph.outputs.values())
    kept = []
    for line in reversed(graph.lines):
        if used.intersection(line.outputs):
            used.update(value for value in line.inputs if value is not None)
            kept.append(line)
    graph.lines[:] = reversed(kept)
