"""Public configurations as people have them, read as commands read them: parameters and FLOPs against transformers.

``configurations.jsonl`` has the fields of each, with the place where they were read.  The truth are the parameters of
the class that a configuration names, each once, and what torch's counter finds in a call without data.  A table is
called at two layers, a model that the library builds as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.formats.libraries.door import ENVIRONMENT
from netcalc.formats.libraries.torchvision_import import import_torchvision
from tests.exhaustive import in_turn
from tests.exhaustive.imports import OK
from tests.exhaustive.table_calls import work_of_call
from tests.exhaustive.transformers import counted, plainly, reduced

#: Packages that the check needs.
NEEDED = ("torch", "transformers")
#: Of the configurations that a table describes, every fourth is in the sample.
SAMPLED = 4
#: Seconds that the library may take to build a model.
_SECONDS = 600
_COLLECTION = Path(__file__).parent / "configurations.jsonl"
#: Seconds that the library may take to build a model.
_SECONDS = 600
_COLLECTION = Path(__file__).parent / "configurations.jsonl"
#: Lengths of texts in calls of tables.
_LENGTHS = {"length": 16, "source": 16, "target": 8}
#: Vars of tables that take a mask which processors always make; without it transformers attends otherwise.
_MASKS = ("image_mask",)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    in_turn.add_options(parser, "part of the sources")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Compare the configurations; return their results, and those that fail."""
    chosen = [source for source in collection() if options.only in source]
    result, failures = in_turn.results_of(chosen, _result, options)
    return result | {"by table": sum(found == _by("table") for found in result["cases"].values())}, failures


def sample(result_before: dict[str, Any]) -> dict[str, Any]:
    """Compare some quick configurations of a record again."""
    cases: dict[str, str] = result_before["cases"]
    chosen = [source for source, found in cases.items() if found == _by("table")][::SAMPLED]
    return {source: in_turn.result(source, _result) for source in chosen}


def collection() -> dict[str, dict[str, Any]]:
    """Return the fields of each configuration by its source."""
    rows = map(json.loads, _COLLECTION.read_text(encoding="utf-8").splitlines())
    return {row["source"]: row["config"] for row in rows}


def _result(source: str) -> str:
    """Return ``ok`` and the way if the figures are those of transformers; otherwise what differs."""
    import_torchvision()
    os.environ.update(ENVIRONMENT)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NETCALC_CACHE"] = folder
        try:
            way, different = _compared(collection()[source], Path(folder))
            return "; ".join(different) or _by(way)
        finally:
            del os.environ["NETCALC_CACHE"]


def _by(way: str) -> str:
    return f"{OK} by {way}"


def _compared(fields: Mapping[str, Any], folder: Path) -> tuple[str, list[str]]:
    """Return the way that a command takes, and the figures that differ."""
    network = _loaded(fields, folder)
    different = [*_different("params", network.params, sum(p.numel() for p in plainly(fields).parameters()))]
    if list(folder.glob("specs/*")):
        way, work = "library", _work_by_library(fields, network)
    else:
        small = _shallow(fields, folder)
        way, work = "table", work_of_call(small, partial(_loaded, small, folder), counted)
    if work is None:
        return f"{way}, parameters alone", different
    return way, [*different, *_different("flops", *work)]


def _work_by_library(fields: Mapping[str, Any], network: netcalc.Network) -> tuple[int, int] | None:
    from netcalc.formats.libraries.capture import call_taken
    from netcalc.formats.torch.trial import error_of
    from netcalc.formats.transformers.building import built

    made = built(_copied(fields), {})
    call = call_taken(made, ())
    if error_of(made.module, call) is not None:
        return None
    return network.analysis("torch").total.flops, counted(lambda: built(_copied(fields), {}).module, call)


def _shallow(fields: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """Return a configuration with two layers, or as it is where its fields do not admit that."""
    small = reduced(fields)
    try:
        _loaded(small, folder)
    except NetcalcError:
        return fields
    return small


def _copied(fields: Mapping[str, Any]) -> Any:
    """Return a copy of a configuration, since transformers changes those that it is given."""
    return json.loads(json.dumps(fields))


def _loaded(
    fields: Mapping[str, Any], folder: Path, settings: Mapping[str, int | bool] | None = None
) -> netcalc.Network:
    path = folder / "config.json"
    path.write_text(json.dumps(fields), encoding="utf-8")
    return netcalc.load(path, timeout=_SECONDS, set=settings or {})


def _different(name: str, found: int, true: int) -> Iterator[str]:
    if found != true:
        yield f"{name} {found}, transformers {true}"
