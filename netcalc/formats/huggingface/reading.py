"""Reading of a ``config.json``, and fields that transformers itself writes in several ways."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, nearest
from netcalc.formats.huggingface.tables import read_table, type_of_class
from netcalc.formats.sources import Source
from netcalc.spec.cursor import Cursor


def read_config(source: Source, max_size: int) -> Cursor:
    """Return the configuration in a file with a ``model_type``: its own, or where that has no table, that of its class.

    Early files leave the type to the class, and those with code of their own name it as they like.

    Raises:
        NetcalcError: E004 if the file cannot be read or is no configuration, E001 to E003 if it is malformed, E007 if
            it has no ``model_type``.
    """
    config = source.parsed(max_size)
    if not isinstance(config.data, dict):
        message = f"{source.label} is no configuration: it should be an object"
        raise NetcalcError(Diagnostic("E004", message, config.span))
    stated = config.data.get("model_type")
    if isinstance(stated, str) and read_table(stated) is not None:
        return config
    if isinstance(stated, str | None) and (found := type_of_class(class_named(config.data))) is not None:
        return Cursor({**config.data, "model_type": found}, config.path, config.spans)
    if isinstance(stated, str):
        return config
    raise NetcalcError(_unknown_kind(config, source.label))


def class_named(config: Any) -> Any:
    """Return the class that the data of a configuration names, None if it names none or several."""
    named = config.get("architectures")
    return named[0] if isinstance(named, list) and len(named) == 1 else None


def _unknown_kind(config: Cursor, label: str) -> Diagnostic:
    """Return the error for a JSON file that is not the configuration of a model in transformers."""
    data = config.data
    if data.get("model_type") is not None:
        return Diagnostic("E007", "model_type should be a string", config["model_type"].span)
    if "weight_map" in data:
        hint = "give the folder, or give the checkpoint to a spec by --weights"
        return Diagnostic("E004", f"{label} is the index of a checkpoint, not a configuration", config.span, hint=hint)
    near = nearest("model_type", data)
    hint = f"is {near!r} meant to be 'model_type'?" if near else "the config.json of a Hugging Face model has one"
    return Diagnostic("E007", f"{label} has no model_type", config.span, hint=hint)
