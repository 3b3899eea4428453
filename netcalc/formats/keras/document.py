"""Models of Keras, read as specs: their configuration alone, in which the weights are not.

Names of layers give the tree of modules.  Images have channels as axis 1, and weights are named as netcalc's layers
name them; :mod:`~netcalc.formats.keras.weights` gives them this form.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from netcalc.formats.documents import Description
from netcalc.formats.graph.checked import checked_program
from netcalc.formats.graph.document import spec_document
from netcalc.formats.graph.model import Graph
from netcalc.formats.graph.simplify import simplify
from netcalc.formats.keras.archive import configuration_of
from netcalc.formats.keras.configuration import Reader
from netcalc.formats.keras.held import Weights
from netcalc.formats.keras.problems import Problems
from netcalc.formats.keras.translation import Translation
from netcalc.formats.sources import Source
from netcalc.limits import MAX_SPEC_SIZE
from netcalc.spec.plain_data import read_data

SUFFIX = ".keras"


class Imported(NamedTuple):
    """The spec document of a model, with its weights."""

    document: dict[str, Any]
    weights: Weights


def describe(source: Source, max_size: int) -> Description:
    """Return the spec document of a model in a ``.keras`` file, or of its configuration in JSON.

    Raises:
        NetcalcError: E007 with every layer that netcalc does not know, E605 if the file cannot be read.
    """
    if source.path.suffix.lower() == SUFFIX:
        data = configuration_of(source.path, max_size)
    else:
        data = source.parsed(max_size).data
    return Description(read_data(imported(data, source.label, source.name).document, source.label), set())


def imported(data: Any, label: str, name: str) -> Imported:
    """Return the spec of a model by its configuration; NetcalcError (E007) for what cannot be translated."""
    problems = Problems(label)
    try:
        model = Reader(problems).model(data)
        graph = Graph(name)
        work = Translation(model, graph, problems)
        work.run()
    except RecursionError:
        raise problems.error("its configuration is nested too deep") from None
    simplify(graph)
    document = spec_document(graph)
    checked_program(graph, document, "model", "E007")
    return Imported(document, work.weights)


def weights_of(path: Path) -> Weights:
    """Return the weights of a file by the paths that its spec has for them; NetcalcError as above."""
    return imported(configuration_of(path, int(MAX_SPEC_SIZE)), str(path), path.stem).weights
