"""Places in a text as editors count them: lines and UTF-16 code units, both from 0.

The diagnostics of netcalc count lines and characters from 1 (:class:`netcalc.diagnostics.Span`).
"""

from __future__ import annotations

from dataclasses import dataclass

from netcalc.diagnostics import Span


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place between two characters: line and UTF-16 code unit in the line, from 0."""

    line: int
    character: int


@dataclass(frozen=True, slots=True, order=True)
class Range:
    """A part of a text from ``start`` up to and excluding ``end``."""

    start: Position
    end: Position

    def contains(self, position: Position) -> bool:
        """Return True for a position inside the range or at one of its ends."""
        return self.start <= position <= self.end


@dataclass(frozen=True, slots=True)
class Edit:
    """Replacement of a part of a text."""

    range: Range
    text: str


class Lines:
    """The lines of a text, and their places as netcalc and as editors count them."""

    def __init__(self, text: str) -> None:
        # line breaks as YAML and editors see them
        self.lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._mark = 1 if text.startswith("\ufeff") else 0  # which netcalc does not count

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, line: int) -> str:
        return self.lines[line]

    def position(self, line: int, column: int) -> Position:
        """Return the place at a line and column that count from 1; at the end of the line for a greater column."""
        index = min(max(line - 1, 0), len(self.lines) - 1)
        text = self.lines[index]
        before = text[: max(column - 1, 0) + (self._mark if index == 0 else 0)]
        return Position(index, len(before) if before.isascii() else len(before.encode("utf-16-le")) // 2)

    def range(self, span: Span) -> Range:
        """Return the range of a place in the text; the beginning of the text for a place without a line."""
        if not span.line:
            return Range(Position(0, 0), Position(0, 0))
        return Range(self.position(span.line, span.column), self.position(span.line, span.end))

    def column(self, position: Position) -> int:
        """Return the number of characters before a place in its line; all of them for a place behind its end."""
        if not 0 <= position.line < len(self.lines):
            return 0
        text = self.lines[position.line]
        if text.isascii():
            return min(position.character, len(text))
        units = text.encode("utf-16-le", "surrogatepass")[: 2 * position.character]
        return len(units.decode("utf-16-le", "replace"))

    def end(self, line: int) -> Position:
        """Return the end of a line, counted from 0."""
        return self.position(line + 1, len(self.lines[line]) + 1)

    @property
    def whole(self) -> Range:
        """The range of the whole text."""
        return Range(Position(0, 0), self.end(len(self.lines) - 1))


def applied(text: str, edits: tuple[Edit, ...] | list[Edit]) -> str:
    """Return a text with edits, whose ranges do not overlap; line breaks become line feeds."""
    lines = Lines(text)
    for edit in sorted(edits, key=lambda item: item.range, reverse=True):
        start, end = edit.range.start, edit.range.end
        head = lines[start.line][: lines.column(start)]
        tail = lines[end.line][lines.column(end) :]
        lines.lines[start.line : end.line + 1] = (head + edit.text + tail).split("\n")
    return "\n".join(lines.lines)
