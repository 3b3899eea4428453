"""Records as lines of JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from netcalc.render.escapes import json_text
from netcalc.render.text import in_utf8

#: Widest line that holds a nested value.
_WIDTH = 120


def json_lines(record: Mapping[str, Any], rows: str = "") -> Iterator[str]:
    """Yield a record as JSON: a value on one line if it fits, and each item of the list ``rows`` on a line."""
    yield "{"
    for number, (key, value) in enumerate(record.items()):
        comma = "," if number < len(record) - 1 else ""
        head = f"  {_json(key)}: "
        if key == rows and value:
            yield head + "["
            yield from _separated(f"    {_json(item)}" for item in value)
            yield f"  ]{comma}"
        else:
            *lines, last = _pretty(value, head, "  ")
            yield from lines
            yield last + comma
    yield "}"


def _pretty(value: Any, head: str, margin: str) -> list[str]:
    """Return the lines of a value after ``head``, broken where they would be too long."""
    compact = head + _json(value)
    if len(compact) <= _WIDTH or not isinstance(value, (dict, list)) or not value:
        return [compact]
    inner = margin + "  "
    if isinstance(value, dict):
        parts = [_pretty(item, f"{inner}{_json(key)}: ", inner) for key, item in value.items()]
    else:
        parts = [_pretty(item, inner, inner) for item in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    lines = [line for part in parts[:-1] for line in (*part[:-1], part[-1] + ",")]
    return [head + opening, *lines, *parts[-1], margin + closing]


def _separated(items: Iterable[str]) -> Iterator[str]:
    """Yield the items with a comma after all but the last."""
    previous: str | None = None
    for item in items:
        if previous is not None:
            yield previous + ","
        previous = item
    if previous is not None:
        yield previous


def _json(value: Any) -> str:
    import json  # not needed for tables

    return json_text(json.dumps(value, ensure_ascii=not in_utf8(sys.stdout), allow_nan=False))
