"""Files of the tables that say what the fields of foreign models mean: ``specs/<family>/<format>/<name>.yaml``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from netcalc.diagnostics import nearest
from netcalc.limits import MAX_SPEC_SIZE
from netcalc.spec.cursor import Cursor
from netcalc.spec.shipped import specs_dir
from netcalc.spec.spec_files import read_spec
from netcalc.spec.yaml_document import parse_yaml

#: What helps with a model that exists as a module.
TORCH_HINT = "`netcalc import torch:package.module:factory` writes the spec of a module of PyTorch"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def find_table(name: str, folder: str) -> tuple[str, Cursor] | None:
    """Return the family of a table and its content; None if there is none of that name for a format."""
    if not _NAME.fullmatch(name):
        return None
    path = next(specs_dir().glob(f"*/{folder}/{name}.yaml"), None)
    if path is None:
        return None
    label = str(path.relative_to(specs_dir().parent))
    return path.relative_to(specs_dir()).parts[0], parse_yaml(read_spec(path, label, MAX_SPEC_SIZE), label)


def nearest_known(name: Any, known: list[str], kind: str) -> str:
    """Return the hint at the nearest name of a table, or all; ``kind`` is what the names stand for."""
    near = nearest(name, known) if isinstance(name, str) else None
    return f"the nearest known {kind} is {near!r}" if near else "`netcalc import` lists those that are known"


def table_names(folder: str) -> list[str]:
    """Return the names of all tables of a format."""
    return sorted(Path(path).stem for path in specs_dir().glob(f"*/{folder}/*.yaml"))
