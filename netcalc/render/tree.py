"""Rows of a table as a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter

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


def by_group(rows: Sequence[Row], column: int) -> list[Row]:
    """Return rows for the values of a column, with the rows of each value below it, without that value.

    >>> [(row.cells, [row.cells for row in row.children]) for row in by_group([Row(["relu", "unary"])], 1)]
    [(['unary', None], [['relu', None]])]
    """
    result = []
    for value, members in groupby(rows, lambda row: row.cells[column]):
        children = [Row([None if i == column else cell for i, cell in enumerate(row.cells)]) for row in members]
        result.append(Row([value, *[None] * (len(children[0].cells) - 1)], children=children))
    return result


def fold_zeros(rows: Sequence[Row]) -> list[Row]:
    """Return the rows, adjacent rows of zeros as one row, without the rows below them.

    >>> rows = [Row(["conv", 1]), Row(["relu", 0], zero=True), Row(["pool", 0], zero=True)]
    >>> [row.cells for row in fold_zeros(rows)]
    [['conv', 1], ['… 2 more', 0]]
    """
    result: list[Row] = []
    for zero, members in groupby(rows, attrgetter("zero")):
        if not zero:
            result += (row._replace(children=fold_zeros(row.children)) if row.children else row for row in members)
            continue
        first, *others = members
        if not others:
            result.append(first._replace(children=()))
            continue
        columns = zip(*(row.cells for row in (first, *others)), strict=True)
        cells = [values[0] if all(value == values[0] for value in values) else None for values in columns]
        cells[0] = f"… {1 + len(others):,} more"
        result.append(Row(cells))
    return result


def compact_margin(margin: str) -> str:
    """The margin with two characters for each level instead of three.

    >>> compact_margin("│     └─ ")
    '│   └ '
    """
    return "".join(margin[i] + " " for i in range(0, len(margin), 3))
