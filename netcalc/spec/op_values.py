"""Values of type ``op``: an operation or block by name or with arguments, with the place where it is written.

A value may be passed on from block to block; errors in it point at the line of its author, not at the line of the block
that applies it.
"""

from __future__ import annotations

from typing import Any

from netcalc.spec.cursor import Cursor


class _Name(str):
    __slots__ = ("place",)
    place: Cursor


class _Call(dict[str, Any]):
    __slots__ = ("place",)
    place: Cursor


def placed(value: Any, place: Cursor) -> Any:
    """Return a name or a mapping with its place; a value that has a place, or is of another type, as it is."""
    if isinstance(value, (_Name, _Call)):
        return value
    if isinstance(value, str):
        name = _Name(value)
        name.place = place
        return name
    if isinstance(value, dict):
        call = _Call(value)
        call.place = place
        return call
    return value


def place_of(value: Any) -> Cursor | None:
    """Return the place of a value, or None if it has none."""
    return value.place if isinstance(value, (_Name, _Call)) else None
