"""Models of diffusers, which are refused by name."""

from __future__ import annotations

from typing import NoReturn

from netcalc.diagnostics import Diagnostic, NetcalcError, written
from netcalc.formats.sources import Source

_CLASS = "_class_name"


def describe(source: Source, max_size: int) -> NoReturn:
    """Raise NetcalcError (E007) with the class of a model or pipeline."""
    config = source.parsed(max_size)
    name = config.data.get(_CLASS)
    named = f" ({written(name)})" if isinstance(name, str) else ""
    message = f"{source.label} describes a model of diffusers{named}, which cannot be imported"
    raise NetcalcError(Diagnostic("E007", message, config.span))
