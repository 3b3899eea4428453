"""An earlier record of ``summary`` as the limit of a change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeGuard

from netcalc.analysis.budget import BudgetRow, HeavyPart, heaviest, layers_of
from netcalc.analysis.cost import Analysis
from netcalc.analysis.figures import FIGURES
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import integer
from netcalc.formats.json_document import parse_json
from netcalc.limits import MAX_SPEC_SIZE
from netcalc.spec.spec_files import read_spec

_KIND = "netcalc/summary/"


def read_record(path: str, convention: str) -> Mapping[str, Any]:
    """Return a record of ``summary`` that was counted under a convention.

    Raises:
        NetcalcError: E004 if the file cannot be read, E001 if it is no JSON, E502 if it is another record, or one of
            another convention.
    """
    data: Any = parse_json(read_spec(Path(path), path, MAX_SPEC_SIZE), path).data
    if not _is_record(data):
        hint = f"netcalc summary MODEL --format json > {path}"
        raise NetcalcError(Diagnostic("E502", f"--against {path}: should be a record of summary", hint=hint))
    if data["convention"] != convention:
        message = f"--against {path}: its work is counted as {data['convention']} does, not {convention}"
        raise NetcalcError(Diagnostic("E502", message, hint=f"--convention {data['convention']}"))
    return data


def _is_record(data: Any) -> TypeGuard[Mapping[str, Any]]:
    """Return True for data with what is read of a record of ``summary``."""
    if not isinstance(data, dict) or not str(data.get("schema")).startswith(_KIND):
        return False
    layers = data.get("layers")
    return (
        all(isinstance(data.get(name), str) for name in ("spec", "convention"))
        and isinstance(data.get("totals"), dict)
        and isinstance(layers, list)
        and all(isinstance(x, dict) and isinstance(x.get("path"), str) and type(x.get("repeat")) is int for x in layers)
    )


def grown(analysis: Analysis, record: Mapping[str, Any], allowed: Fraction | float) -> Iterator[BudgetRow]:
    """Yield the totals that a network and a record have, which may be more by a share."""
    source = f"{record['spec']} of the record" + (f" and {float(allowed * 100):g} % more" if allowed else "")
    for name, value in record["totals"].items():
        if name in FIGURES and isinstance(value, int):
            counted, limit = integer(FIGURES[name].of(analysis.total)), int(value * (1 + Fraction(allowed)))
            parts = _growth(analysis, record, name) if counted > limit else ()
            yield BudgetRow(name, counted, limit, counted <= limit, source, parts)


def _growth(analysis: Analysis, record: Mapping[str, Any], name: str) -> tuple[HeavyPart, ...]:
    """Return the layers of which a figure has grown most, by path; none if the record gives totals of it alone."""
    if not all(name in layer for layer in record["layers"]):
        return ()
    before: dict[str, int] = {}
    for layer in record["layers"]:
        count = layer.get(name)
        before[layer["path"]] = (count if isinstance(count, int) else 0) * layer["repeat"]
    layers = layers_of(analysis, FIGURES[name].of)
    return heaviest(layer._replace(counted=layer.counted - before.get(layer.path, 0)) for layer in layers)
