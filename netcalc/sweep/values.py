"""Kinds of values in the columns of a sweep, and the type of a column in files that have types."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

from netcalc.sweep.plan import Undefined

#: Kind of a value: integers are short where floating point has them exactly, long with 64 bits, and decimal with 38
#: digits.
Kind = Literal["bool", "short", "long", "decimal", "float", "text", "other"]
#: Type of a column in a file.
ColumnType = Literal["bool", "int64", "decimal", "double", "text"]

#: Column of the reasons why points are refused.
REASON = "reason"

_SHORT = 1 << 53
_LONG = 1 << 63
_DECIMAL = 10**38

#: Types of columns with the kinds that they hold exactly; the first that fits is taken, else text.
_TYPES: tuple[tuple[ColumnType, frozenset[Kind]], ...] = (
    ("int64", frozenset(("short", "long"))),
    ("bool", frozenset(("bool",))),
    ("double", frozenset(("short", "float"))),
    ("decimal", frozenset(("short", "long", "decimal"))),
)


def plain(values: Sequence[Any]) -> list[Any]:
    """Return values as Python's own, of a list or an array; None where an expression has no value."""
    listed = values.tolist() if hasattr(values, "tolist") else values
    return [None if isinstance(value, Undefined) else value for value in listed]


def kinds(values: Iterable[Any]) -> set[Kind]:
    """Return the kinds of values; None is of none."""
    return {_kind(value) for value in values if value is not None}


def column_types(found: Mapping[str, Collection[Kind]]) -> dict[str, ColumnType]:
    """Return the types of columns by the kinds of their values, which they hold exactly."""
    return {name: "text" if name == REASON else _column_type(listed) for name, listed in found.items()}


def _column_type(found: Collection[Kind]) -> ColumnType:
    return next((name for name, held in _TYPES if held.issuperset(found)), "text")


def texts(values: Iterable[Any]) -> list[str | None]:
    """Return values as they are written in a column of text: texts as they are, others as JSON."""
    return [value if value is None or isinstance(value, str) else json.dumps(value, default=str) for value in values]


def _kind(value: Any) -> Kind:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        if -_SHORT <= value <= _SHORT:
            return "short"
        if -_LONG <= value < _LONG:
            return "long"
        return "decimal" if -_DECIMAL < value < _DECIMAL else "other"
    return "float" if isinstance(value, float) else "text" if isinstance(value, str) else "other"
