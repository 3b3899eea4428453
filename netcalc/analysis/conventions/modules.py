"""Modules of PyTorch by which reference implementations call operations, read from ``data/reference_modules.yaml``.

Tools that hook modules count what a module of a class they know computes, and nothing of a function.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

#: Class of what is called without a module.
FUNCTION = "function"
_FILE = Path(__file__).parent.parent.parent / "data" / "reference_modules.yaml"


def called_module(block: str, operation: str) -> str:
    """Return the class of the module by which a line of a block calls an operation, ``function`` if there is none."""
    tables = _tables()
    of_block: Mapping[str, Any] = tables["blocks"].get(block, {})
    classes = of_block.get("modules", {})
    found = classes.get(operation) or classes.get("all") or tables["operations"].get(operation, FUNCTION)
    return str(found)


def is_whole(block: str, names: Collection[str]) -> bool:
    """Return True for a block that the reference of a network keeps on one device.

    Args:
        block: name of the block.
        names: name of the network, and its model type.
    """
    patterns = _tables()["whole"].get(block, ())
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


@cache
def _tables() -> Mapping[str, Any]:
    from netcalc.spec.yaml_document import parse_yaml

    tables: Mapping[str, Any] = parse_yaml(_FILE.read_text(encoding="utf-8"), _FILE.name).data
    return tables
