"""Options of a split over devices, and the values that ask for none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Options of a split, with the values that ask for none.
_NONE: Mapping[str, Any] = {
    "tp": 1,
    "pp": 1,
    "dp": 1,
    "ep": 1,
    "cp": 1,
    "sp": False,
    "zero": None,
    "fsdp": False,
    "virtual_stages": 1,
}


def is_split(options: Mapping[str, Any]) -> bool:
    """Return True if options ask for a split."""
    return any(options.get(name, value) != value for name, value in _NONE.items())
