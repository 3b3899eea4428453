"""All hostile cases."""

from __future__ import annotations

from functools import cache

from tests.hostile import attributes, environment, expressions, gguf, options, specs, tensors, text
from tests.hostile.case import Case

__all__ = ["all_cases"]


@cache
def all_cases() -> dict[str, Case]:
    """Return every case by name."""
    found: dict[str, Case] = {}
    for family in (specs, expressions, attributes, options, tensors, gguf, environment, text):
        for case in family.cases():
            if case.name in found:
                raise ValueError(f"two cases are named {case.name!r}")
            found[case.name] = case
    return found
