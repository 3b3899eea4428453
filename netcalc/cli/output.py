"""Where results go: standard output, or a file that is replaced as a whole."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.render.text import PLAIN, Look, look_of

__all__ = ["json_lines", "look_for", "write"]

_WIDTH = 120


def look_for(output: str | None) -> Look:
    """The look of where a result goes; a file shows no colours and has no width."""
    return look_of(sys.stdout) if output is None else PLAIN


def write(lines: Iterable[str], output: str | None = None) -> None:
    """Writes lines; NetcalcError (E502) where the file cannot be written."""
    if output is None:
        for line in lines:
            sys.stdout.write(line + "\n")
        return
    from netcalc.files import replacing

    try:
        with replacing(output) as path, path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(line + "\n" for line in lines)
    except OSError as error:
        message = f"--output {output} cannot be written: {(error.strerror or str(error)).lower()}"
        raise NetcalcError(Diagnostic("E502", message)) from None


def json_lines(record: Mapping[str, Any], rows: str = "") -> Iterator[str]:
    """A record as JSON: what fits is put on one line, and so is every item of the list at ``rows``."""
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
    """The lines of a value behind ``head``, broken where they would be too long."""
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
    """The items with a comma after all but the last."""
    waiting: str | None = None
    for item in items:
        if waiting is not None:
            yield waiting + ","
        waiting = item
    if waiting is not None:
        yield waiting


def _json(value: Any) -> str:
    import json  # tables need none of it

    return json.dumps(value, ensure_ascii=False, allow_nan=False)
