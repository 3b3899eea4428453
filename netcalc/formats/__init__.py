"""Models in foreign formats, which are read as spec documents: configurations of Hugging Face."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.formats.hub import PREFIX as HUB_PREFIX
from netcalc.formats.hub import Repository
from netcalc.formats.sources import Source, find_source
from netcalc.limits import MAX_SPEC_SIZE
from netcalc.spec.library import Loaded, load_document
from netcalc.spec.spec_files import looks_like_spec, read_spec, unreadable

if TYPE_CHECKING:
    from netcalc.numerics.tensor_files import Tensors

__all__ = ["HUB_PREFIX", "import_model", "load_model", "own_weights"]

_INDEX = ".safetensors.index.json"


def load_model(model: str | Path, max_size: int = MAX_SPEC_SIZE) -> Loaded:
    """Load a spec, or a model in a foreign format, which becomes a spec that extends a shipped one.

    Args:
        model: a spec (a path, a name or ``-``); the configuration of a Hugging Face model, or its folder; or the name
            of a model on the Hub, ``hf:org/name[@revision]``.
        max_size: largest size in bytes of each file that is read.

    Raises:
        NetcalcError: with every error found; E007 if the model cannot be imported, E008 if the Hub cannot be read.
    """
    source = find_source(str(model), max_size)
    if source is None or _is_spec(source, max_size):
        return load_document(model, max_size)
    from netcalc.formats.huggingface import load_config

    return load_config(source, max_size)


def import_model(model: str | Path, settings: Mapping[str, Any], max_size: int = MAX_SPEC_SIZE) -> str:
    """Return the text of the spec that is equivalent to a model in a foreign format.

    Args:
        model: as for :func:`load_model`, but no spec.
        settings: values of fields of the configuration, dims and vars by name, in place of its own.
        max_size: largest size in bytes of each file that is read.

    Raises:
        NetcalcError: as :func:`load_model`; E502 for a spec.
    """
    source = find_source(str(model), max_size)
    if source is None or _is_spec(source, max_size):
        hint = "import takes the config.json of a Hugging Face model, its folder, or hf:org/name"
        raise NetcalcError(Diagnostic("E502", f"{model} is no model in a foreign format", hint=hint))
    from netcalc.formats.huggingface import import_config
    from netcalc.formats.spec_text import spec_text

    return spec_text(import_config(source, settings, max_size))


def own_weights(model: str | Path) -> Path | Tensors | None:
    """Return a model's own weights in safetensors files: its folder, or those on the Hub; None if there are none.

    Raises:
        NetcalcError: E004 if the folder cannot be listed; E008 for a model on the Hub that has none, and if it cannot
            be read; E605 for damaged files there.
    """
    source = find_source(str(model))
    if source is None or not source.is_of_folder:
        return None
    if source.repository is not None:
        return _weights_on_the_hub(source.repository)
    folder = source.path.parent
    try:
        with os.scandir(folder) as entries:
            return folder if any(e.name.endswith((".safetensors", _INDEX)) for e in entries) else None
    except OSError as error:
        raise NetcalcError(unreadable(folder, error)) from None


def _weights_on_the_hub(repository: Repository) -> Tensors:
    from netcalc.formats.hub.remote_tensors import open_remote

    found = open_remote(repository)
    if found is None:
        hint = f"`netcalc import {repository.name}` writes its spec, which takes weights by --weights"
        message = f"{repository.name} has no weights in safetensors files"
        raise NetcalcError(Diagnostic("E008", message, hint=hint))
    return found


def _is_spec(source: Source, max_size: int) -> bool:
    """Return True for a spec in JSON."""
    return not source.is_of_folder and looks_like_spec(read_spec(source.path, source.label, max_size))
