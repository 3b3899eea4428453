"""Shipped specs with their figures at the default sizes."""

from __future__ import annotations

from typing import NamedTuple

from netcalc.analysis.cost import analyse
from netcalc.dims import Dim
from netcalc.spec import elaborate
from netcalc.spec.library import Loaded

__all__ = ["ListedSpec", "listed_spec"]


class ListedSpec(NamedTuple):
    """A shipped spec with its figures at the default sizes."""

    name: str
    family: str
    params: Dim
    macs: Dim
    about: str
    source: str


def listed_spec(name: str, loaded: Loaded, convention: str) -> ListedSpec:
    """Return the figures of a shipped spec, its MACs under a counting convention."""
    total = analyse(elaborate(loaded, {}), convention).total
    document = loaded.document
    return ListedSpec(name, document.family, total.params, total.macs, document.about, document.source)
