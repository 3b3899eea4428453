"""The catalogue of the shipped specs: their figures at the default sizes, kept as package data.

Listing nearly two hundred specs would take seconds if each had to be elaborated, so that the file is generated
(``pytest tests/test_catalogue.py --update``), and a test compares it with the specs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from netcalc.analysis.conventions import FIRST
from netcalc.analysis.cost import analyze
from netcalc.dims import Dim
from netcalc.reference.tags import tags_of
from netcalc.spec import elaborate
from netcalc.spec.library import load_document
from netcalc.spec.shipped import shipped, specs_dir


def catalogue_entry(name: str) -> dict[str, Any]:
    """Return the entry of a shipped spec as JSON data."""
    path = shipped()[name]
    loaded = load_document(path)
    document = loaded.document
    program = elaborate(loaded)
    analyses = {convention: analyze(program, convention) for convention in FIRST}
    totals = {convention: analysis.total for convention, analysis in analyses.items()}
    return {
        "file": path.relative_to(specs_dir()).as_posix(),
        "family": document.family,
        "about": document.about,
        "source": document.source,
        "aliases": document.aliases,
        "tags": tags_of(analyses["netcalc"], document.tags),
        "params": _number(totals["netcalc"].params),
        "macs": {convention: _number(total.macs) for convention, total in totals.items()},
    }


def catalogue_text(entries: Iterable[tuple[str, dict[str, Any]]]) -> str:
    """Return the file of the catalogue, with one line for each entry so that changes are easy to read."""
    lines = [f"{json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}" for name, entry in sorted(entries)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _number(figure: Dim) -> int:
    assert isinstance(figure, int), "the dims of a shipped spec have defaults"
    return figure
