"""Constant parts of a graph: tensors that depend on no input and no parameter, as functions of their indices."""

from __future__ import annotations

from netcalc.formats.graph.constants.attention import recognise_masks
from netcalc.formats.graph.constants.evaluation import constants_of
from netcalc.formats.graph.model import Graph

__all__ = ["constants_of", "fold_constants"]


def fold_constants(graph: Graph) -> None:
    """Replace constant parts of a graph by attributes of the operations that use them, where these have such.

    Lines that are not used any more stay.
    """
    recognise_masks(graph, constants_of(graph))
