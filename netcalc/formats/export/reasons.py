"""Reasons why a format has no rule of an operation."""

from __future__ import annotations

from collections.abc import Mapping

from netcalc import ops


def reason_of(name: str, reasons: Mapping[str, str]) -> str:
    """Return the reason that a format gives for an operation, or else for its family."""
    return reasons.get(name) or reasons.get(ops.family(name), "has no rule")
