"""Where results go: standard output, or a file that is replaced as a whole."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.render.text import PLAIN, Look, look_of

__all__ = ["json_lines", "look_for", "write"]


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
    """A record as indented JSON, with the items of the list at ``rows`` one a line."""
    import json

    def text(value: Any, indent: int | None = None) -> str:
        return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)

    if not rows:
        yield from text(record, 2).split("\n")
        return
    yield "{"
    for number, (key, value) in enumerate(record.items()):
        comma = "," if number < len(record) - 1 else ""
        if key != rows:
            yield f"  {text(key)}: {text(value)}{comma}"
            continue
        yield f"  {text(key)}: ["
        for index, item in enumerate(value):
            yield f"    {text(item)}{',' if index < len(value) - 1 else ''}"
        yield f"  ]{comma}"
    yield "}"
