"""Record of ``specs``: the shipped specs."""

from __future__ import annotations

from collections.abc import Iterable

from typing_extensions import TypedDict

from netcalc.analysis.catalogue import ListedSpec
from netcalc.records import schema_id
from netcalc.records.values import Count, count

__all__ = ["SpecsRecord", "specs_record"]


class SpecRecord(TypedDict):
    """A spec with its figures at the default sizes."""

    name: str
    family: str
    params: Count
    """Elements of parameters."""
    macs: Count
    """Multiply-adds of one forward pass."""
    about: str
    source: str


class SpecsRecord(TypedDict):
    """All shipped specs, or those that were selected."""

    schema: str
    convention: str
    """Counting convention of the MACs."""
    specs: list[SpecRecord]


def specs_record(specs: Iterable[ListedSpec], convention: str) -> SpecsRecord:
    """Return the record of a list of specs."""
    return {
        "schema": schema_id("specs"),
        "convention": convention,
        "specs": [
            {
                "name": spec.name,
                "family": spec.family,
                "params": count(spec.params),
                "macs": count(spec.macs),
                "about": spec.about,
                "source": spec.source,
            }
            for spec in specs
        ],
    }
