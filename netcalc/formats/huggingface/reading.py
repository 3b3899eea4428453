"""Reading of a ``config.json``, and fields that transformers itself writes in several ways."""

from __future__ import annotations

from netcalc.diagnostics import Diagnostic, NetcalcError, nearest, written
from netcalc.formats.json_document import parse_json
from netcalc.formats.sources import Source
from netcalc.spec.cursor import Cursor
from netcalc.spec.spec_files import read_spec

__all__ = ["checked_config", "read_config"]

#: Kinds of other JSON files, by a key that they have, with another key that names what it is.
_OTHERS = {
    "_class_name": ("a model of diffusers", "_class_name"),
    "_diffusers_version": ("a model of diffusers", "_class_name"),
}


def read_config(source: Source, max_size: int) -> Cursor:
    """Return the configuration in a file, which has a ``model_type``.

    Raises:
        NetcalcError: E004 if the file cannot be read or is no configuration, E001 to E003 if it is malformed.
    """
    return checked_config(parse_json(read_spec(source.path, source.label, max_size), source.label), source.label)


def checked_config(config: Cursor, label: str) -> Cursor:
    """Return a configuration; NetcalcError if it has no ``model_type``, as for :func:`read_config`."""
    if not isinstance(config.data, dict):
        raise NetcalcError(Diagnostic("E004", f"{label} is no configuration: it should be an object", config.span))
    if not isinstance(config.data.get("model_type"), str):
        raise NetcalcError(_unknown_kind(config, label))
    return config


def _unknown_kind(config: Cursor, label: str) -> Diagnostic:
    """Return the error for a JSON file that is not the configuration of a model in transformers."""
    data = config.data
    if "model_type" in data:
        return Diagnostic("E007", "model_type should be a string", config["model_type"].span)
    if "weight_map" in data:
        hint = "give the folder, or give the checkpoint to a spec by --weights"
        return Diagnostic("E004", f"{label} is the index of a checkpoint, not a configuration", config.span, hint=hint)
    found = next((kind for key, kind in _OTHERS.items() if key in data), None)
    if found is not None:
        kind, key = found
        named = f" ({written(data[key])})" if isinstance(data.get(key), str) else ""
        message = f"{label} describes {kind}{named}, which cannot be imported"
        return Diagnostic("E007", message, config.span)
    near = nearest("model_type", data)
    hint = f"is {near!r} meant to be 'model_type'?" if near else "the config.json of a Hugging Face model has one"
    return Diagnostic("E007", f"{label} has no model_type", config.span, hint=hint)
