"""Models in GGUF, the format of llama.cpp, read as specs that extend shipped ones.

The correspondence is data: a table ``specs/<family>/gguf/<architecture>.yaml`` says what the metadata mean, and which
tensor of the file is which parameter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netcalc.formats.documents import imported
from netcalc.formats.gguf.storage import stored_types
from netcalc.formats.gguf.tables import GgufTable, table_of
from netcalc.formats.gguf.translation import Translation
from netcalc.limits import MAX_SPEC_SIZE
from netcalc.spec.evaluate import evaluate
from netcalc.spec.library import Loaded, load_cursor
from netcalc.spec.settings import resolve_settings

if TYPE_CHECKING:
    from netcalc.weights.gguf.changes import Change
    from netcalc.weights.gguf.tensors import GgufFile, GgufWeights

__all__ = ["gguf_weights", "import_gguf", "load_gguf"]

_PART = re.compile(r"-\d{5}-of-\d{5}$")


def load_gguf(path: Path, max_size: int = MAX_SPEC_SIZE) -> Loaded:
    """Load the spec of a model in a ``.gguf`` file, or in several parts of which one is named.

    Raises:
        NetcalcError: E007 for what netcalc does not know, which is never left out silently; E605 if the file cannot be
            read.
    """
    file, translation = _opened(path)
    document = translation.translated(_name(path))
    loaded = load_cursor(document, str(path), max_size=max_size)
    types = {name: tensor.type for name, tensor in file.tensors.items()}
    loaded.storage = stored_types(document.data.get("checkpoint", {}), types, document.data["dtype"])
    return loaded


def import_gguf(path: Path, settings: Mapping[str, Any], max_size: int = MAX_SPEC_SIZE) -> dict[str, Any]:
    """Return the spec of a model with numbers in place of metadata, as data that can be written to a file.

    Args:
        path: the ``.gguf`` file.
        settings: values of fields, dims and vars by name, in place of those of the metadata.
        max_size: largest size in bytes of each spec that is read.

    Raises:
        NetcalcError: as :func:`load_gguf`, and for invalid settings.
    """
    translation = _opened(path)[1]
    document = translation.translated(_name(path))
    loaded = load_cursor(document, str(path), max_size=max_size)
    del document.data["checkpoint"]  # the tensors of the file are of use with the file only
    return imported(document, loaded, set(translation.values), settings)


def gguf_weights(path: Path) -> GgufWeights:
    """Return the weights of a model as its reference implementation has them.

    Raises:
        NetcalcError: as :func:`load_gguf`.
    """
    from netcalc.weights.gguf.tensors import GgufWeights

    file, translation = _opened(path)
    loaded = load_cursor(translation.translated(_name(path)), str(path))
    scope = {**translation.values, **resolve_settings(loaded, {}, ())}
    return GgufWeights(file, _changes(translation.table, scope))


def _opened(path: Path) -> tuple[GgufFile, Translation]:
    from netcalc.weights.gguf.tensors import open_gguf

    file = open_gguf(path)
    return file, Translation(file, table_of(file.metadata.get("general.architecture"), file.name))


def _changes(table: GgufTable, scope: Mapping[str, Any]) -> list[Change]:
    """Return what the conversion to GGUF changed in tensors."""
    from netcalc.weights.gguf.changes import Change

    found = []
    for index, entry in enumerate(table.part("changes")):
        place = table.cursor["changes"][index]
        for kind, numbers in evaluate(place["undo"], scope).items():
            found.append(Change(entry["tensors"], kind, tuple(numbers)))
    return found


def _name(path: Path) -> str:
    """Return the name of a model, that of its file without the number of the part."""
    return _PART.sub("", path.stem)
