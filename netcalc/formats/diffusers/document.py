"""Models of diffusers, which have no tables, and pipelines, which are several models."""

from __future__ import annotations

from typing import NoReturn

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.formats.diffusers.pipeline import INDEX, pipeline_error
from netcalc.formats.sources import Source


def describe(source: Source, max_size: int) -> NoReturn:
    """Refuse a model, which the library builds, or a pipeline, whose models are named instead.

    Raises:
        NetcalcError: E007 always.
    """
    content = source.parsed(max_size)
    if source.path.name == INDEX:
        raise pipeline_error(source, max_size)
    named = content.data.get("_class_name") if isinstance(content.data, dict) else None
    raise NetcalcError(Diagnostic("E007", f"no table describes a model of diffusers ({named})", content.span))
