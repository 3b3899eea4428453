"""Tables of text: for a terminal, as Markdown, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from netcalc.render.text import PLAIN, Look, clean, padded, width_of

__all__ = ["Column", "csv_lines", "grid", "markdown"]

_GAP = "  "


class Column(NamedTuple):
    """A column's title and side.  Where a terminal is too narrow, the one with the highest ``spare`` goes first."""

    title: str
    right: bool = False
    spare: int = 0


def grid(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], look: Look = PLAIN, *, total: Sequence[str] | None = None
) -> str:
    """The table with aligned columns; cells are never cut.

    Columns that are empty throughout are left out, and where the width does not suffice, spare ones are too, which a
    last line says.
    """
    full = [*rows, total] if total is not None else list(rows)
    cells = [[clean(cell) for cell in row] for row in full]
    shown = [i for i, _ in enumerate(columns) if i == 0 or any(row[i] for row in cells)]
    widths = [max((width_of(row[i]) for row in cells), default=0) for i in range(len(columns))]
    widths = [max(width, width_of(column.title)) for width, column in zip(widths, columns, strict=True)]
    dropped: list[int] = []
    while look.width is not None and sum(widths[i] + len(_GAP) for i in shown) - len(_GAP) > look.width:
        spare = [i for i in shown if columns[i].spare]
        if not spare:
            break
        worst = max(spare, key=lambda i: columns[i].spare)
        shown.remove(worst)
        dropped.append(worst)

    def line(row: Sequence[str]) -> str:
        return _GAP.join(padded(row[i], widths[i], right=columns[i].right) for i in shown).rstrip()

    rule = look("─" * (sum(widths[i] for i in shown) + len(_GAP) * (len(shown) - 1)), "dim")
    lines = [look(line([column.title for column in columns]), "bold"), rule]
    body = cells if total is None else cells[:-1]
    lines += (line(row) for row in body)
    if total is not None:
        lines += [rule, look(line(cells[-1]), "bold")]
    if dropped:
        names = ", ".join(dict.fromkeys(columns[i].title for i in sorted(dropped)))
        lines.append(look(f"left out for want of width: {names}", "dim"))
    return "\n".join(lines)


def markdown(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The table's lines in Markdown."""
    yield "| " + " | ".join(column.title for column in columns) + " |"
    yield "|" + "|".join("--:" if column.right else ":--" for column in columns) + "|"
    for row in rows:
        yield "| " + " | ".join(clean(cell).replace("|", "\\|") for cell in row) + " |"


def csv_lines(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The table's lines as CSV (RFC 4180, with plain line ends)."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="")
    for row in chain([titles], rows):
        writer.writerow(row)
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
