"""Writing of results: to standard output, or to a file that is replaced as a whole."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from netcalc.cli.streams import in_utf8
from netcalc.diagnostics import Diagnostic, NetcalcError, distinct
from netcalc.render.escapes import json_text, outgoing
from netcalc.render.text import PLAIN, Terminal, terminal_of

__all__ = ["json_lines", "print_warnings", "terminal_for", "write"]

_WIDTH = 120


def terminal_for(output: str | None, *, wide: bool = False) -> Terminal:
    """Return the properties of the output: a file has no colours and no width; ``wide`` removes the width."""
    terminal = terminal_of(sys.stdout) if output is None else PLAIN
    return terminal._replace(width=None) if wide else terminal


def write(lines: Iterable[str], output: str | None = None, *, option: str = "--output ") -> None:
    """Write lines; NetcalcError (E502) if the file, which ``option`` names, cannot be written."""
    if output is None:
        sys.stdout.writelines(line + "\n" for line in lines)
        return
    from netcalc.files import replacing

    try:
        with replacing(output) as path, path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(outgoing(line + "\n", styled=False) for line in lines)
    except OSError as error:
        message = f"{option}{output} cannot be written: {(error.strerror or str(error)).lower()}"
        raise NetcalcError(Diagnostic("E502", message)) from None


def print_warnings(warnings: Iterable[Diagnostic]) -> None:
    """Write warnings to standard error, each once."""
    given = distinct(warnings)
    if given:
        from netcalc.render.diagnostics import render_diagnostics

        print(render_diagnostics(given, terminal_of(sys.stderr)), file=sys.stderr)


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
