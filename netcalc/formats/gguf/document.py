"""Models in GGUF, the format of llama.cpp, read as specs that extend shipped ones.

The correspondence is data: a table ``specs/<family>/gguf/<architecture>.yaml`` says what the metadata mean, and which
tensor of the file is which parameter.
"""

from __future__ import annotations

import re
from pathlib import Path

from netcalc.diagnostics import Diagnostic
from netcalc.formats.documents import Description
from netcalc.formats.gguf.storage import stored_types
from netcalc.formats.gguf.tables import table_of
from netcalc.formats.gguf.translation import Translation
from netcalc.formats.ignored import Ignored
from netcalc.formats.sources import Source
from netcalc.ir.storage import OwnStorage
from netcalc.weights.gguf.tensors import GgufFile, open_gguf

_PART = re.compile(r"-\d{5}-of-\d{5}$")


def describe(source: Source, max_size: int) -> Description:
    """Return the spec document of a model in a ``.gguf`` file, or in several parts of which one is named.

    Raises:
        NetcalcError: E007 for what netcalc does not know, which is never left out silently; E605 if the file cannot be
            read.
    """
    file, translation = opened(source.path, source.ignored)
    document = translation.translated(model_name(source.path))
    types = {name: tensor.type for name, tensor in file.tensors.items()}
    try:
        rules = stored_types(document.data.get("checkpoint", {}), types, document.data["dtype"])
        storage = OwnStorage(rules, of_file=True)
    except ValueError as why:
        hint = "`netcalc memory` counts by the headers; --quantize or --dtype replaces them"
        storage = OwnStorage(of_file=True, unsettled=(Diagnostic("E007", f"{source.label}: {why}", hint=hint),))
    return Description(document, set(translation.values), of_file=("checkpoint",), storage=storage)


def opened(path: Path, ignored: Ignored | None = None) -> tuple[GgufFile, Translation]:
    """Return a file with its translation; NetcalcError as for :func:`describe`."""
    file = open_gguf(path)
    if ignored is not None:
        file = file._replace(metadata=ignored.without(file.metadata))
    return file, Translation(file, table_of(file.metadata.get("general.architecture"), file.name))


def model_name(path: Path) -> str:
    """Return the name of a model: the name of its file without the number of the part."""
    return _PART.sub("", path.stem)
