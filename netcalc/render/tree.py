"""Rows of a table as a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netcalc.render.table import Row


def flat_rows(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield every row, each followed by its children."""
    for row in rows:
        yield row
        if row.children:
            yield from flat_rows(row.children)


def tree_rows(rows: Sequence[Row], margin: str = "", level: int = 1) -> Iterator[tuple[str, Row]]:
    """Yield every row with its margin; rows below the top level are drawn as branches."""
    for number, row in enumerate(rows):
        last = number == len(rows) - 1
        branch = "" if level == 1 else "└─ " if last else "├─ "
        yield margin + branch, row
        if row.children:
            yield from tree_rows(row.children, "" if level == 1 else margin + ("   " if last else "│  "), level + 1)


def compact_margin(margin: str) -> str:
    """The margin with two characters for each level instead of three.

    >>> compact_margin("│     └─ ")
    '│   └ '
    """
    return "".join(margin[i] + " " for i in range(0, len(margin), 3))
