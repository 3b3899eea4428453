"""Models in ONNX, read as specs.

The messages of the file are read by netcalc itself; the data of tensors are skipped, but for a few integers
such as shapes.  Names of nodes give the tree of modules, names of tensors the paths of parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from netcalc.formats.documents import Description
from netcalc.formats.graph.checked import checked_program
from netcalc.formats.graph.document import spec_document
from netcalc.formats.graph.model import Graph
from netcalc.formats.graph.simplify import simplify
from netcalc.formats.onnx.declared import Declared
from netcalc.formats.onnx.file import OnnxFile, open_onnx
from netcalc.formats.onnx.held import Held
from netcalc.formats.onnx.known import Known
from netcalc.formats.onnx.naming import is_by_pytorch
from netcalc.formats.onnx.paths import Place, give_paths
from netcalc.formats.onnx.stored_forms import own_storage
from netcalc.formats.onnx.translation import Translation
from netcalc.formats.sources import Source
from netcalc.ir.storage import OwnStorage
from netcalc.spec.plain_data import read_data


class Imported(NamedTuple):
    """The spec document of a model, with the tensors of the file by the paths of the checkpoint that it loads.

    ``declared`` compares the types that the file declares for values, and ``storage`` says how it stores parameters.
    """

    document: dict[str, Any]
    tensors: dict[str, tuple[Held, Place]]
    declared: Declared
    storage: OwnStorage


def describe(source: Source, max_size: int) -> Description:
    """Return the spec document of a model in an ``.onnx`` file.

    Raises:
        NetcalcError: E007 with every operator that netcalc does not know, E605 if the file cannot be read.
    """
    model = imported(open_onnx(source.path), source.name)
    return Description(read_data(model.document, source.label), set(), storage=model.storage)


def imported(file: OnnxFile, name: str, given: Mapping[str, Known] = {}) -> Imported:
    """Return the spec of a model.

    Args:
        file: the file.
        name: name of the network.
        given: elements of inputs that are constants then.

    Raises:
        NetcalcError: E007 for what cannot be translated.
    """
    graph = Graph(name)
    work = Translation(file, graph, given)
    work.run()
    places = give_paths(graph, work.tensors, is_by_pytorch(file.model), work.read, file.are_copies)
    simplify(graph)
    document = spec_document(graph)
    checked_program(graph, document, "model", "E007")
    tensors = {place.path: (work.tensors[name], place) for name, place in places.items()}
    return Imported(document, tensors, work.declared, own_storage(graph, tensors))


def weights_of(path: Path) -> tuple[OnnxFile, Imported]:
    """Return a file with its tensors by the paths of the checkpoint that its spec loads; NetcalcError as above."""
    file = open_onnx(path)
    return file, imported(file, path.stem)
