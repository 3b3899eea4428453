"""Models in foreign formats, which are read as spec documents: configurations of Hugging Face."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.files import exists, is_folder
from netcalc.limits import MAX_SPEC_SIZE
from netcalc.spec.library import Loaded, load_document
from netcalc.spec.shipped import shipped_file, unaliased
from netcalc.spec.spec_files import looks_like_spec, read_spec, unreadable

__all__ = ["import_model", "load_model", "own_weights"]

#: File of a folder that describes its model.
CONFIG = "config.json"
_INDEX = ".safetensors.index.json"


def load_model(model: str | Path, max_size: int = MAX_SPEC_SIZE) -> Loaded:
    """Load a spec, or a model in a foreign format, which becomes a spec that extends a shipped one.

    Args:
        model: a spec (a path, a name or ``-``), the configuration of a Hugging Face model, or its folder.
        max_size: largest size in bytes of each file that is read.

    Raises:
        NetcalcError: with every error found; E007 if the model cannot be imported.
    """
    config = _configuration(str(model))
    if config is None or _is_spec(config, max_size):
        return load_document(model, max_size)
    from netcalc.formats.huggingface import load_config

    return load_config(config, max_size)


def import_model(model: str | Path, settings: Mapping[str, Any], max_size: int = MAX_SPEC_SIZE) -> str:
    """Return the text of the spec that is equivalent to a model in a foreign format.

    Args:
        model: as for :func:`load_model`, but no spec.
        settings: values of fields of the configuration, dims and vars by name, in place of its own.
        max_size: largest size in bytes of each file that is read.

    Raises:
        NetcalcError: as :func:`load_model`; E502 for a spec.
    """
    config = _configuration(str(model))
    if config is None or _is_spec(config, max_size):
        hint = "import takes the config.json of a Hugging Face model, or its folder"
        raise NetcalcError(Diagnostic("E502", f"{model} is no model in a foreign format", hint=hint))
    from netcalc.formats.huggingface import import_config
    from netcalc.formats.spec_text import spec_text

    return spec_text(import_config(config, settings, max_size))


def own_weights(model: str | Path) -> Path | None:
    """Return the folder of a configuration that holds weights in safetensors files; None if there are none.

    Raises:
        NetcalcError: E004 if the folder cannot be listed.
    """
    config = _configuration(str(model))
    if config is None or config.name != CONFIG:
        return None
    try:
        with os.scandir(config.parent) as entries:
            return config.parent if any(e.name.endswith((".safetensors", _INDEX)) for e in entries) else None
    except OSError as error:
        raise NetcalcError(unreadable(config.parent, error)) from None


def _configuration(model: str) -> Path | None:
    """Return the configuration that a text may name, itself or by its folder; None for a spec.

    As for specs, a text with a separator or a suffix is a path, and another one first of all a shipped name.
    """
    path = Path(model)
    if path.suffix == ".json":
        return path
    named = path.suffix == "" and "/" not in model and os.sep not in model
    if model in ("", "-") or not is_folder(path) or (named and (shipped_file(model) or unaliased(model))):
        return None
    if exists(path / CONFIG):
        return path / CONFIG
    hint = "a folder of a Hugging Face model has one; a spec is named by its file"
    raise NetcalcError(Diagnostic("E004", f"{model} is a folder without {CONFIG}", hint=hint))


def _is_spec(path: Path, max_size: int) -> bool:
    """Return True for a spec in JSON."""
    return path.name != CONFIG and looks_like_spec(read_spec(path, str(path), max_size))
