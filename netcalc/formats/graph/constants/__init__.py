"""Constant parts of a graph: tensors that depend on no input and no parameter, as functions of their indices."""

from __future__ import annotations

from netcalc.formats.graph.constants.attention import recognize_masks
from netcalc.formats.graph.constants.evaluation import constants_of
from netcalc.formats.graph.constants.folding import fold_operands
from netcalc.formats.graph.constants.writing import write_constants
from netcalc.formats.graph.model import Graph

__all__ = ["constants_of", "fold_constants", "listed", "note_unknown"]


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
    """Note the buffers on which the lines of a graph depend and whose values a spec does not list."""
    read = {line.parameters[""].path: None for line in graph.lines if line.operation == "buffer"}
    unknown = [path for path in read if graph.tensors[path].unknown]
    missing = [path for path in unknown if graph.tensors[path].array is None]
    if missing:
        values, them = ("values of buffers", "them") if len(missing) > 1 else ("the value of a buffer", "it")
        graph.notes.append(
            f"{values} that the source does not hold: {listed(missing)}; shapes and counts are exact, and a run gives"
            f" NaN or an error unless a checkpoint holds {them}"
        )
    long = [path for path in unknown if graph.tensors[path].array is not None]
    if long:
        values, are = ("values", "are") if len(long) > 1 else ("the value", "is")
        graph.notes.append(
            f"{values} of {listed(long)} {are} too long for a spec: shapes and counts are exact, and a run of a spec"
            " that was written to a file gives NaN or an error"
        )


def listed(paths: list[str]) -> str:
    """Return the first paths of a list as a text, and the number of the others."""
    return ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
