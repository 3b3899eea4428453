"""The files of ``netcalc/data/schemes``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from netcalc.spec.yaml_document import parse_yaml

_FOLDER = Path(__file__).parent.parent / "data" / "schemes"


@cache
def families() -> Mapping[str, Mapping[str, Any]]:
    """Return the content of each file, by its name without the suffix."""
    files = sorted(_FOLDER.glob("*.yaml"))
    return {file.stem: parse_yaml(file.read_text(encoding="utf-8"), file.name).data for file in files}


@cache
def entries(key: str) -> Mapping[str, Any]:
    """Return the entries of a key in all files."""
    return {name: entry for family in families().values() for name, entry in family.get(key, {}).items()}
