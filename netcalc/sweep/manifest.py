"""Manifests: what the parts in a folder are of, so that a sweep is continued by its own parts alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.files import is_file, read_at_most, write_file
from netcalc.request import Request
from netcalc.sweep.plan import Plan
from netcalc.sweep.recipe import Recipe, source_digests

NAME = "manifest.json"

#: Largest manifest that is read; the values of ranges are listed in it.
_MOST_BYTES = 1 << 28

#: What an entry is called in a message.
_TITLES = {
    "netcalc": "version of netcalc",
    "sources": "spec",
    "settings": "settings",
    "options": "options",
    "figures": "figures",
    "plan": "ranges",
    "points": "number of points",
    "parts": "format of its parts",
}


def manifest(recipe: Recipe, plan: Plan, request: Request, parts: str) -> dict[str, Any]:
    """Return what decides on every row of a sweep, as plain data of JSON.

    Args:
        recipe: recipe of the sweep.
        plan: its points.
        request: its spec and settings.
        parts: format of its parts.
    """
    options = {"mode": request.mode, "dtype": request.dtype, "lora": request.lora}
    record = {
        "netcalc": recipe.version,
        "model": None if request.model is None else str(request.model),
        "sources": source_digests(request.source),
        "settings": {**request.settings, **request.sizes},
        "options": {**options, "quantize": request.quantize, "prune": request.prune},
        "figures": recipe.figures,
        "plan": plan.record(),
        "points": len(plan),
        "parts": parts,
    }
    read: dict[str, Any] = json.loads(json.dumps(record, default=str))
    return read


def write_manifest(folder: Path, record: Mapping[str, Any]) -> None:
    """Write the manifest of a folder; NetcalcError (E502) if it cannot be written."""
    text = json.dumps(record, ensure_ascii=False, indent=1) + "\n"
    write_file([text.encode()], str(folder / NAME), "-o ")


def require_same(folder: Path, record: Mapping[str, Any]) -> None:
    """Check that the parts of a folder are of this sweep.

    Raises:
        NetcalcError: E502 with the first entry in which they differ, or if the folder has no manifest.
    """
    recorded = _read(folder)
    for name, title in _TITLES.items():
        if recorded.get(name) == record[name]:
            continue
        message = f"{folder} has the parts of another sweep: its {title} is {_shown(recorded.get(name))}"
        if name in ("sources", "plan", "settings", "options"):
            message = f"{folder} has the parts of another sweep: another {title.removesuffix('s')}"
        raise NetcalcError(Diagnostic("E502", message, hint="choose another -o, or remove the folder"))


def _read(folder: Path) -> Mapping[str, Any]:
    path = folder / NAME
    if is_file(path):
        try:
            with path.open("rb") as file:
                recorded = json.loads(read_at_most(file, _MOST_BYTES))
        except (OSError, ValueError):
            recorded = None
        if isinstance(recorded, dict):
            return recorded
    hint = "choose another -o, or remove the folder"
    raise NetcalcError(Diagnostic("E502", f"{folder} is not a folder of parts: it has no {NAME} of a sweep", hint=hint))


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
