"""Models in foreign formats, read as spec documents.

:mod:`~netcalc.formats.table` lists the formats; nothing else here knows a format by name.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.files import exists
from netcalc.formats.hub import PREFIX as HUB_PREFIX
from netcalc.formats.ignored import Ignored, check_found
from netcalc.formats.reading import Reading
from netcalc.formats.sources import Source, described, find_source
from netcalc.formats.table import CONFIG, FORMATS, GGUF, TORCH, implementation, named_format
from netcalc.spec.library import Loaded, load_cursor, load_document, load_text
from netcalc.spec.requirements import unmet_by_settings
from netcalc.spec.settings import Settings
from netcalc.spec.spec_files import checked_size, looks_like_spec

if TYPE_CHECKING:
    from netcalc.arrays import Array
    from netcalc.formats.documents import Description
    from netcalc.formats.onnx.reference import Executed
    from netcalc.options import ReferenceName
    from netcalc.weights.checkpoint_files import Weights
    from netcalc.weights.tensor_files import Tensors

__all__ = [
    "HUB_PREFIX",
    "check_found",
    "executable",
    "executed_by",
    "import_model",
    "is_gguf",
    "is_torch",
    "load_model",
    "opened_weights",
    "own_weights",
    "pending_downloads",
]

#: Name of a text in the places of errors.
_TEXT = "<text>"


def load_model(model: str | Path, reading: Reading = Reading()) -> Loaded:  # noqa: B008 - a tuple
    """Load a spec, or a model in a foreign format, which becomes a spec.

    Args:
        model: a spec (a path, a name, its text, or ``-``); the configuration of a Hugging Face model, its folder, or
            its text; a ``.gguf`` file; the name of a model on the Hub, ``hf:org/name[@revision]``, or of timm or
            torchvision, ``timm:name``.
        reading: limits, the way to the spec, fields that are left out (those that it has are ``ignored`` of the
            result), and what a library is told that builds the model.

    Raises:
        NetcalcError: with every error found; E007 if the model cannot be imported, E008 if the Hub cannot be read,
            E009 if its library cannot build it, E502 if only ``import`` takes it.
    """
    if isinstance(model, str) and is_text(model):
        return _load_text(model, reading)
    source = find_source(str(model), reading.max_size)
    if source is None or source.is_spec(reading.max_size):
        _require_no_library(str(model), reading)
        return load_document(model, reading.max_size)
    return _described(source, reading)[1]


def is_text(model: str) -> bool:
    """Return True for the text of a spec or of a configuration in place of its name: several lines, or a mapping."""
    return "\n" in model.strip() or model.lstrip().startswith("{")


def _load_text(text: str, reading: Reading) -> Loaded:
    """Load a spec, or the configuration of a model, from its text."""
    if looks_like_spec(text) or not text.lstrip().startswith("{"):
        _require_no_library(_TEXT, reading)
        return load_text(text, _TEXT, max_size=reading.max_size)
    from netcalc.formats.json_document import parse_json

    content = parse_json(checked_size(text, _TEXT, reading.max_size), _TEXT)
    return _described(Source(Path(_TEXT, CONFIG), _TEXT, "model", content=content), reading)[1]


def _require_no_library(name: str, reading: Reading) -> None:
    """Check that a spec is not read as a model that a library builds; NetcalcError (E502) if it is."""
    if reading.via == "library" or reading.examples:
        hint = "leave out --via library and --example"
        raise NetcalcError(Diagnostic("E502", f"{name} is a spec, which no library builds", hint=hint))


def _described(source: Source, reading: Reading) -> tuple[Description, Loaded]:
    """Return the spec document of a model with the spec."""
    ignored = Ignored(reading.ignore)
    source = source._replace(ignored=ignored)
    description = described(source, reading)
    loaded = load_cursor(description.document, source.label, max_size=reading.max_size)
    if reading.via is None and (refusal := _unmet(description, loaded, reading.settings)) is not None:
        description = described(source, reading, refusal)
        loaded = load_cursor(description.document, source.label, max_size=reading.max_size)
    loaded.storage, loaded.used = description.storage, description.used
    loaded.ignored, loaded.notes = tuple(ignored.found), ignored.notes
    return description, loaded


def _unmet(description: Description, loaded: Loaded, settings: Mapping[str, Any]) -> NetcalcError | None:
    """Return the error for what the table of a model requires and its configuration does not meet, if there is any."""
    if "require" not in description.document.data:
        return None
    values = Settings(loaded, settings, ())
    problems, _ = unmet_by_settings(description.document, loaded.label, values, settings)
    return NetcalcError(problems) if problems else None


def import_model(model: str | Path, reading: Reading = Reading()) -> str:  # noqa: B008 - a tuple
    """Return the text of the spec that is equivalent to a model in a foreign format.

    Args:
        model: as for :func:`load_model`, but no spec; also a ``.pt2`` file, or ``torch:package.module:factory`` of a
            module whose ``forward`` takes no arguments.
        reading: as for :func:`load_model`; its settings are values of fields of the configuration, dims and vars, and
            notes of the spec name the fields that are left out.

    Raises:
        NetcalcError: as :func:`load_model`; E502 for a spec, and for fields to ignore that the configuration lacks.
    """
    from netcalc.formats.documents import imported
    from netcalc.formats.spec_text import spec_text

    source = find_source(str(model), reading.max_size)
    if source is None or source.is_spec(reading.max_size):
        takes = ", ".join(row.takes for row in FORMATS if row.takes is not None)
        hint = f"import takes {takes}, or {HUB_PREFIX}org/name"
        raise NetcalcError(Diagnostic("E502", f"{model} is no model in a foreign format", hint=hint))
    if (row := source.format) is not None and row.only_import is not None:
        return spec_text(implementation(str(row.document)).import_document(source.label, reading.settings))
    description, loaded = _described(source, reading)
    check_found(reading.ignore, loaded.ignored)
    settings = {name: value for name, value in reading.settings.items() if name not in loaded.used}
    return spec_text(imported(description, loaded, settings, loaded.notes))


def is_gguf(model: str | Path) -> bool:
    """Return True for the name of a file in GGUF."""
    return named_format(str(model)) is GGUF


def is_torch(model: str | Path) -> bool:
    """Return True for ``torch:package.module:factory``, and for the name of a file with an exported program."""
    return named_format(str(model)) is TORCH


def opened_weights(weights: Weights | None) -> Weights | None:
    """Return weights, with tensors in place of a text that names a model or its folder and not a file of tensors.

    Raises:
        NetcalcError: E605 if the file cannot be read; E007 if its model is not known; E008 if the Hub cannot be read.
    """
    if isinstance(weights, (str, Path)):
        return _opened(weights)
    if isinstance(weights, (list, tuple)):
        return [_opened(item) if isinstance(item, (str, Path)) else item for item in weights]
    return weights


def _opened(path: str | Path) -> str | Path | Tensors:
    named = str(path).startswith(HUB_PREFIX) or named_format(str(path)) is not None
    joined = (row.filename for row in FORMATS if row.filename is not None and row.joins_weights)
    if named or any(exists(Path(path) / filename) for filename in joined):
        return own_weights(path) or path
    return path


def own_weights(model: str | Path) -> Path | Tensors | None:
    """Return the weights that a model has in its own file, beside the file that describes it, or on the Hub.

    Returns None if there are none.

    Raises:
        NetcalcError: E004 if the folder cannot be listed; E007 if the model is not known; E008 for a model on the Hub
            that has none, and if it cannot be read; E605 for damaged files.
    """
    source = find_source(str(model))
    weights = None if source is None else weights_of(source)
    if weights is None and source is not None and source.repository is not None:
        hint = f"`netcalc import {source.repository.name}` writes its spec, which takes weights by --weights"
        message = f"{source.repository.name} has no weights in safetensors files"
        raise NetcalcError(Diagnostic("E008", message, hint=hint))
    return weights


def executable(model: str | Path | None, library: ReferenceName) -> Source:
    """Return the file of a model that another library executes; NetcalcError (E502) for a model without one."""
    source = None if model is None else find_source(str(model))
    row = None if source is None else source.format
    if source is None or row is None or row.reference is None:
        takes = " or ".join(row.takes or "" for row in FORMATS if row.reference is not None)
        name = "this model" if model is None else repr(str(model)[:200])
        raise NetcalcError(Diagnostic("E502", f"{library} cannot execute {name}", hint=f"name {takes}"))
    return source


def executed_by(source: Source, library: ReferenceName, inputs: Mapping[str, Array]) -> Executed:
    """Return the outputs of another library that executes the file of a model, with its version.

    Raises:
        NetcalcError: E009 if the library is not installed, or does not execute the file.
    """
    row = source.format
    assert row is not None and row.reference is not None
    executed: Executed = implementation(row.reference).executed(source, library, inputs)
    return executed


def weights_of(source: Source) -> Path | Tensors | None:
    """Return the weights of a model, None if it has none; NetcalcError as for :func:`own_weights`."""
    row = source.format
    if row is None or row.weights is None:
        return None
    weights: Path | Tensors | None = implementation(row.weights).own_weights(source)
    return weights


def pending_downloads(weights: Weights | None) -> dict[str, int]:
    """Return the bytes of opened weights on the Hub that a run downloads to its cache, by their names."""
    if "netcalc.formats.hub.remote_tensors" not in sys.modules:
        return {}  # it has opened none; its import takes a hundredth of a second
    from netcalc.formats.hub.remote_tensors import pending_bytes
    from netcalc.weights.tensor_files import Tensors

    parts = weights if isinstance(weights, (list, tuple)) else [weights]
    sizes = {part.name: pending_bytes(part) for part in parts if isinstance(part, Tensors)}
    return {name: pending for name, pending in sizes.items() if pending}
