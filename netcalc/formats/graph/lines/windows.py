"""Sizes of windows as they are written."""

from __future__ import annotations

from typing import Any


def plain(sizes: Any) -> Any:
    """Return sizes as one number where they are equal."""
    listed = list(sizes) if isinstance(sizes, (list, tuple)) else [sizes]
    return listed[0] if listed and all(size == listed[0] for size in listed) else listed


def unless(sizes: Any, default: Any) -> Any:
    """Return sizes, as one number where they are equal; None for the default."""
    written = plain(sizes)
    return None if written == default or written == [] else written
