"""Text for terminals and files: styles where a stream shows them, widths, and user text made harmless."""

from __future__ import annotations

import os
from typing import NamedTuple, TextIO
from unicodedata import category, combining, east_asian_width

__all__ = ["PLAIN", "Look", "clean", "fill", "look_of", "padded", "width_of"]

_STYLES = {
    "bold": "1",
    "dim": "2",
    "error": "1;31",
    "note": "1;36",
    "place": "34",
    "good": "32",
    "bad": "31",
    "name": "36",
}


class Look(NamedTuple):
    """How a stream is written to: whether it shows colours, and its width where it has one."""

    color: bool = False
    width: int | None = None

    def __call__(self, text: str, style: str) -> str:
        """``text`` in a style, or as it is where the stream shows none."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.color and text else text


PLAIN = Look()


def look_of(stream: TextIO) -> Look:
    """The look of a stream: ``NO_COLOR``, ``FORCE_COLOR``, ``TERM`` and ``COLUMNS`` are heeded.

    What is no terminal has no width, so that nothing is left out of a file or a pipe; ``COLUMNS`` gives it one.
    """
    terminal = stream.isatty()
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdigit() and int(columns) > 0 else None
    if width is None and terminal:
        try:
            width = os.get_terminal_size(stream.fileno()).columns or None
        except OSError:
            width = None
    wanted = bool(os.environ.get("FORCE_COLOR")) or (terminal and os.environ.get("TERM") != "dumb")
    return Look(wanted and not os.environ.get("NO_COLOR"), width)


def clean(text: str) -> str:
    """User text without anything that a terminal would act on: control characters become visible.

    >>> clean("a\\x1b[31mb\\n")
    'a\\\\x1b[31mb\\\\n'
    """
    if text.isprintable():
        return text
    return "".join(c if category(c)[0] != "C" else c.encode("unicode_escape").decode() for c in text)


def width_of(text: str) -> int:
    """How many columns a text without styles takes."""
    if not text or max(text) < "\u0300":  # below, nothing combines and nothing is wide
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def padded(text: str, width: int, *, right: bool = False) -> str:
    """``text`` filled with spaces to ``width``."""
    space = " " * (width - width_of(text))
    return space + text if right else text + space


def fill(text: str, width: int | None, indent: str = "") -> str:
    """A paragraph broken into lines between words; words are never cut."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        wider = f"{line} {word}" if line else word
        if line and width is not None and width_of(indent) + width_of(wider) > width:
            lines.append(line)
            line = word
        else:
            line = wider
    return "\n".join(indent + part for part in (*lines, line))
