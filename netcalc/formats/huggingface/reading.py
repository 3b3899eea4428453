"""Reading of a ``config.json``, and fields that transformers itself writes in several ways."""

from __future__ import annotations

from netcalc.diagnostics import Diagnostic, NetcalcError, nearest
from netcalc.formats.json_document import parse_json
from netcalc.formats.sources import Source
from netcalc.spec.cursor import Cursor
from netcalc.spec.shipped import unaliased
from netcalc.spec.spec_files import read_spec

__all__ = ["read_config"]

#: Kinds of other JSON files, by a key that they have.
_OTHERS = {
    "_class_name": "a model of diffusers",
    "_diffusers_version": "a model of diffusers",
    "architecture": "a model of timm",
    "peft_type": "an adapter of PEFT",
}


def read_config(source: Source, max_size: int) -> Cursor:
    """Return the configuration in a file, which has a ``model_type``.

    Raises:
        NetcalcError: E004 if the file cannot be read or is no configuration, E001 to E003 if it is malformed.
    """
    label = source.label
    config = parse_json(read_spec(source.path, label, max_size), label)
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
    kind = next((kind for key, kind in _OTHERS.items() if key in data), None)
    if kind is not None:
        named = data.get("architecture")
        spec = unaliased(named) if isinstance(named, str) else None
        message = f"{label} describes {kind}, which cannot be imported"
        known = f"the spec {spec} has this architecture, with its own sizes" if spec else None
        return Diagnostic("E007", message, config.span, hint=known)
    near = nearest("model_type", data)
    hint = f"is {near!r} meant to be 'model_type'?" if near else "the config.json of a Hugging Face model has one"
    return Diagnostic("E007", f"{label} has no model_type", config.span, hint=hint)
