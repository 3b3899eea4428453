"""Constant parts of a graph: tensors that depend on no input and no parameter, as functions of their indices."""

from __future__ import annotations

from netcalc.formats.graph.constants.attention import recognise_masks
from netcalc.formats.graph.constants.evaluation import constants_of
from netcalc.formats.graph.constants.folding import fold_operands
from netcalc.formats.graph.constants.writing import write_constants
from netcalc.formats.graph.model import Graph

__all__ = ["constants_of", "fold_constants"]


def fold_constants(graph: Graph) -> None:
    """Make constant parts of a graph short, and leave out those that change nothing.

    They become attributes of the operations that use them where these have such: masks of attention, positions.
    Lines that are not used any more stay.
    """
    known = constants_of(graph)
    recognise_masks(graph, known)
    fold_operands(graph, known)
    write_constants(graph, known)
