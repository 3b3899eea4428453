"""Changes of a text that the hints of diagnostics propose: another name, a value as it should be written, a key."""

from __future__ import annotations

import re
from collections.abc import Iterator

from netcalc.diagnostics import Diagnostic
from netcalc.language.positions import Edit, Lines, Position, Range

#: Hints that give the text in place of what is marked.
_NAMED = re.compile(r"did you mean '([^']+)'\?(?: .*)?|use `([^`…]+)`")
_WRITTEN = re.compile(r"write `([^`…]+)`(?:, without quotes|: `/` gives no whole number)?")
_ASCII = re.compile(r"write (['\"])(.+?)\1 of ASCII in place of (['\"])(.+?)\3 \(U\+[0-9A-F]+\)(?:, in column (\d+))?")
_GIVEN_ALREADY = "it is given already"


def hinted_edits(item: Diagnostic, lines: Lines) -> tuple[tuple[str, tuple[Edit, ...]], ...]:
    """Return the title and the edits of each change that the hint of a diagnostic of the text proposes."""
    return tuple(_changes(item, lines)) if item.hint and item.span is not None else ()


def _changes(item: Diagnostic, lines: Lines) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    hint, span = item.hint or "", item.span
    assert span is not None
    marked = lines.range(span)
    if hint == "start the spec with `netcalc: 1`":
        start = Position(0, 0)
        yield "Write `netcalc: 1`", (Edit(Range(start, start), "netcalc: 1\n"),)
    elif (found := _ASCII.fullmatch(hint)) is not None and (place := _full_width(found, item, lines)) is not None:
        yield f"Write {found[2]!r} in place of {found[4]!r}", (Edit(place, found[2]),)
    elif not _is_on_one_line(item):
        return
    elif (found := _NAMED.fullmatch(hint)) is not None and _GIVEN_ALREADY not in hint:
        name = found[1] or found[2]
        yield f"Change to `{name}`", (Edit(marked, name),)
    elif (found := _WRITTEN.fullmatch(hint)) is not None:
        yield f"Write `{found[1]}`", (Edit(marked, found[1]),)


def _is_on_one_line(item: Diagnostic) -> bool:
    """Return True if the value that is marked ends where its mark does."""
    span = item.span
    return (
        span is not None and not any(map(str.strip, span.more[:1])) and bool(span.text[span.column - 1 : span.end - 1])
    )


def _full_width(found: re.Match[str], item: Diagnostic, lines: Lines) -> Range | None:
    """Return the place of a full-width character in the line that is marked."""
    span = item.span
    assert span is not None
    column = int(found[5]) if found[5] else span.text.find(found[4], max(span.column - 1, 0)) + 1
    if column <= 0 or span.text[column - 1 : column] != found[4]:
        return None
    return Range(lines.position(span.line, column), lines.position(span.line, column + 1))
