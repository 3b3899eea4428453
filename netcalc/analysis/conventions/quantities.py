"""Quantities of a network by which formulas of papers state work, derived from its operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netcalc.ir import Program


class Quantities:
    """Quantities of a network, each derived when it is read."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def members(self) -> Mapping[str, Any]:
        """Return the attributes in expressions."""
        return {}
