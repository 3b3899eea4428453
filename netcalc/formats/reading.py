"""Options of the reading of a model."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from netcalc.limits import BUILD_SECONDS, MAX_SPEC_SIZE
from netcalc.options import Via


class Reading(NamedTuple):
    """Limits of the reading of a model, the way that it takes, and what a library is told that builds it."""

    max_size: int = MAX_SPEC_SIZE
    via: Via | None = None
    timeout: int = BUILD_SECONDS
    examples: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    settings: Mapping[str, Any] = MappingProxyType({})
