"""Texts with a mark at a place."""

from __future__ import annotations

from netcalc.language import Document, Position


def marked(text: str, mark: str = "|") -> tuple[Document, Position]:
    """The document without the mark, and the place of the mark."""
    before, found, after = text.partition(mark)
    assert found
    line = before.count("\n")
    return Document(before + after), Position(line, len(before) - (before.rfind("\n") + 1))
