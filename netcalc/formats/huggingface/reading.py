"""Reading of a ``config.json``, and fields that transformers itself writes in several ways."""

from __future__ import annotations

from netcalc.diagnostics import Diagnostic, NetcalcError, nearest
from netcalc.formats.sources import Source
from netcalc.spec.cursor import Cursor


def read_config(source: Source, max_size: int) -> Cursor:
    """Return the configuration in a file, which has a ``model_type``.

    Raises:
        NetcalcError: E004 if the file cannot be read or is no configuration, E001 to E003 if it is malformed, E007 if
            it has no ``model_type``.
    """
    config = source.parsed(max_size)
    if not isinstance(config.data, dict):
        message = f"{source.label} is no configuration: it should be an object"
        raise NetcalcError(Diagnostic("E004", message, config.span))
    if not isinstance(config.data.get("model_type"), str):
        raise NetcalcError(_unknown_kind(config, source.label))
    return config


def _unknown_kind(config: Cursor, label: str) -> Diagnostic:
    """Return the error for a JSON file that is not the configuration of a model in transformers."""
    data = config.data
    if "model_type" in data:
        return Diagnostic("E007", "model_type should be a string", config["model_type"].span)
    if "weight_map" in data:
        hint = "give the folder, or give the checkpoint to a spec by --weights"
        return Diagnostic("E004", f"{label} is the index of a checkpoint, not a configuration", config.span, hint=hint)
    near = nearest("model_type", data)
    hint = f"is {near!r} meant to be 'model_type'?" if near else "the config.json of a Hugging Face model has one"
    return Diagnostic("E007", f"{label} has no model_type", config.span, hint=hint)
