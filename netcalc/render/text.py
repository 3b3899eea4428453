"""Text for terminals and files: colors, widths and line breaks."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import NamedTuple, TextIO
from unicodedata import category, east_asian_width

_STYLES = {
    "bold": "1",
    "dim": "2",
    "error": "1;31",
    "warning": "1;33",
    "note": "1;36",
    "place": "34",
    "good": "32",
    "bad": "31",
    "name": "36",
    **{f"series {number}": code for number, code in enumerate(("34", "33", "32", "35", "31", "36"), 1)},
}


#: Widest terminal: help pages fill each line with spaces.
_WIDEST = 10_000


class Terminal(NamedTuple):
    """Properties of an output stream: ``color`` if it shows colors, and its width in columns if it has one.

    Formulas in tables have all terms if ``whole``.
    """

    color: bool = False
    width: int | None = None
    whole: bool = False

    def styled(self, text: str, style: str) -> str:
        """``text`` in a style, or unchanged if the stream shows no colors."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.color and text else text


PLAIN = Terminal()


def terminal_of(stream: TextIO) -> Terminal:
    """Return the properties of a stream, from ``NO_COLOR``, ``FORCE_COLOR``, ``TERM`` and ``COLUMNS``.

    A file or a pipe has no width unless ``COLUMNS`` gives one, so that its tables are complete.
    """
    interactive = stream.isatty()
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if is_width(columns) else None
    if width is None and interactive:
        try:
            width = os.get_terminal_size(stream.fileno()).columns or None
        except OSError:
            width = None
    color = bool(os.environ.get("FORCE_COLOR")) or (interactive and os.environ.get("TERM") != "dumb")
    return Terminal(color and not os.environ.get("NO_COLOR"), width)


def in_utf8(stream: TextIO) -> bool:
    """Return True if a stream writes UTF-8.  JSON has only ASCII characters in other encodings, and so is UTF-8 too."""
    return (stream.encoding or "").lower().replace("_", "-") in ("utf-8", "utf8")


def is_width(text: str) -> bool:
    """Return True for a number of columns or lines that a terminal can have."""
    return text.isascii() and text.isdigit() and len(text) < 10 and 0 < int(text) <= _WIDEST


def width_of(text: str) -> int:
    """Number of terminal columns that a clean text without styles takes."""
    if text.isascii() or max(text) < "\u0300":  # below, no character is combining or wide
        return len(text)
    return sum(map(_columns, text))


@lru_cache(4096)
def _columns(character: str) -> int:
    """Number of terminal columns that a character takes."""
    return 0 if category(character) in ("Mn", "Me") else 2 if east_asian_width(character) in "WF" else 1


def padded(text: str, width: int, *, right: bool = False) -> str:
    """``text`` padded with spaces to ``width``; ``right`` aligns it to the right."""
    space = " " * (width - width_of(text))
    return space + text if right else text + space


def fill(text: str, width: int | None, indent: str = "", hanging: str | None = None) -> str:
    """Break a paragraph into lines between words; a word longer than a line is broken.

    ``indent`` precedes each line, or only the first where ``hanging`` is given, which precedes the others.
    """
    if width is None:
        return indent + " ".join(text.split())
    rest = indent if hanging is None else hanging
    lines: list[str] = []
    line, empty = indent, True
    for word in text.split():
        if not empty and width_of(line) + 1 + width_of(word) > width:
            lines.append(line)
            line, empty = rest, True
        line = line + word if empty else f"{line} {word}"
        empty = False
        while (fitting := _fitting_length(line, width)) < len(line) and width > width_of(rest) + 8:
            cut = _cut(line, fitting)
            lines.append(line[:cut])
            line = rest + line[cut:]
    return "\n".join([*lines, line])


def _fitting_length(line: str, width: int) -> int:
    """Number of characters of ``line`` that fit in ``width``; the rest of it, which may be long, is not looked at."""
    if len(line) <= width and width_of(line) <= width:
        return len(line)
    columns = 0
    for place, character in enumerate(line):
        columns += width_of(character)
        if columns > width:
            return place
    return len(line)


def _cut(line: str, end: int) -> int:
    """Number of characters of ``line``, at most ``end``, preferably up to a place to break."""
    for place in range(end, end // 2, -1):
        if line[place - 1] in "/,;=·+·–-_":
            return place
    return end
