"""Constant parts of a graph: tensors that depend on no input and no parameter, as functions of their indices."""

from __future__ import annotations

from netcalc.formats.graph.constants.attention import recognize_masks
from netcalc.formats.graph.constants.evaluation import constants_of
from netcalc.formats.graph.constants.folding import fold_operands
from netcalc.formats.graph.constants.writing import write_constants
from netcalc.formats.graph.model import Graph

__all__ = ["constants_of", "fold_constants", "note_unknown"]


def fold_constants(graph: Graph) -> None:
    """Make constant parts of a graph short, and leave out those that change nothing.

    They become attributes of the operations that use them where these have such: masks of attention, positions.
    Lines that are not used any more stay.
    """
    constants = constants_of(graph)
    recognize_masks(graph, constants)
    fold_operands(graph, constants)
    write_constants(graph, constants)


def note_unknown(graph: Graph) -> None:
    """Note the buffers whose values are not known and on which the lines of a graph depend."""
    read = {line.parameters[""].path: None for line in graph.lines if line.operation == "buffer"}
    paths = [path for path in read if graph.tensors[path].unknown]
    if not paths:
        return
    shown = ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
    many = len(paths) > 1
    graph.notes.append(
        f"{'values of buffers' if many else 'the value of a buffer'} that the source does not hold: {shown}; shapes and"
        f" counts are exact, and a run gives NaN or an error unless a checkpoint holds {'them' if many else 'it'}"
    )
