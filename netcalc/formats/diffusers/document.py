"""Models of diffusers, which have no tables, and pipelines, which are folders of models."""

from __future__ import annotations

from typing import NoReturn

from netcalc.diagnostics import Diagnostic, NetcalcError, written
from netcalc.formats.sources import Source

PIPELINE = "model_index.json"


def describe(source: Source, max_size: int) -> NoReturn:
    """Refuse a model, which the library builds, or a pipeline, whose models are named instead.

    Raises:
        NetcalcError: E007 always.
    """
    content = source.parsed(max_size)
    named = content.data.get("_class_name") if isinstance(content.data, dict) else None
    if source.path.name != PIPELINE:
        raise NetcalcError(Diagnostic("E007", f"no table describes a model of diffusers ({named})", content.span))
    folder = source.label.removesuffix(PIPELINE).rstrip("/\\") or "."
    parts = pipeline_parts(source, max_size)
    hint = f"its models are {', '.join(f'{folder}/{part}' for part in parts)}" if parts else None
    message = f"{folder} is a pipeline of diffusers ({named}), which is several models"
    raise NetcalcError(Diagnostic("E007", message, content.span, hint=hint))


def pipeline_parts(source: Source, max_size: int) -> list[str]:
    """Return the folders of the models of a pipeline: parts with a class of a library, and a configuration."""
    entries = source.parsed(max_size).data
    if not isinstance(entries, dict):
        raise NetcalcError(Diagnostic("E004", f"{source.label} should be an object, not {written(entries)}"))
    named = [
        name
        for name, entry in entries.items()
        if name.isidentifier() and isinstance(entry, list) and len(entry) == 2 and all(entry)
    ]
    return [name for name in named if source.beside(f"{name}/config.json", max_size) is not None]
