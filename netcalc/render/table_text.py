"""Tables for terminals, fitted to the width, and as plain text in files and pipes.

In a terminal, adjacent rows of zeros are folded.  If it is too narrow, numbers of work and of elements are rounded,
then columns of low priority are dropped, paths and names are shortened, prose is broken into lines, and formulas in
symbolic sizes show fewer terms.  A line below the table says so.  Shapes are never cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

from netcalc.dims import Poly
from netcalc.render.cells import ROUNDED, text_writer
from netcalc.render.escapes import clean
from netcalc.render.numbers import NO_TERM, WHOLE, repeated
from netcalc.render.shorten import shorten_end, shorten_middle, shorten_path, shorten_shapes
from netcalc.render.table import ALWAYS, LEFT_ALIGNED, Column, Row, Table, rows_shown
from netcalc.render.text import PLAIN, Terminal, fill, padded, width_of
from netcalc.render.tree import compact_margin, flat_rows, fold_zeros, tree_rows

_GAP = "  "
#: Widths to which columns are shortened before others are dropped, before those of a high priority (shapes and shares)
#: are dropped, and as a last resort.  A label is a path in a tree.
_COMFORTABLE = {"path": 30, "label": 30, "text": 20, "prose": 48, "line": 32}
_TIGHT = {"path": 30, "label": 15, "text": 14, "prose": 16, "line": 24}
_LEAST = {"path": 12, "label": 12, "text": 8, "prose": 16, "line": 16}
#: Lengths to which formulas in symbolic sizes are shortened, until the table fits, and the priority below which columns
#: are dropped: a figure is left out before formulas are too short to say anything.
_FITS = (*((length, ALWAYS - 1) for length in (72, 56, 44)), *((length, ALWAYS) for length in (72, 56, 44, 34, 26, 14)))
#: Least priority that is high.
_HIGH = ALWAYS - 2
#: Longest margin of a tree that is not deep, of three levels.
_DEEP = 9
#: Minimum width to which a title is shortened.
_TITLE = 16


def table_text(table: Table, terminal: Terminal = PLAIN) -> str:
    """Return the table as lines with aligned columns; columns without any value are left out."""
    lines = _heading(table, terminal)
    indent = "  " if table.title and not table.header else ""
    complete, changes = table, _Changes()
    if terminal.width is not None:
        terminal = terminal._replace(width=terminal.width - len(indent))
        table = table._replace(rows=fold_zeros(table.rows))
    rows = _all_rows(table)
    symbolic = any(cell.__class__ is Poly for row in rows for cell in row.cells)
    for length, priority in _FITS if symbolic and not terminal.whole else [(WHOLE if terminal.whole else 72, ALWAYS)]:
        columns = [_format(table, rows, i, column, length) for i, column in enumerate(table.columns)]
        shown = [column for i, column in enumerate(columns) if i == 0 or any(column.cells)]
        if terminal.width is None:
            break
        changes = _fit_columns(shown, terminal.width, priority)
        shown = [column for column in shown if column not in changes.dropped]
        collapsed = priority < ALWAYS and any(cell.startswith(NO_TERM) for column in shown for cell in column.cells)
        if not collapsed and _total([column.width for column in shown]) <= terminal.width:
            break
    for column in shown:
        column.fit()
    lines += [indent + line.replace("\n", "\n" + indent) for line in _table_lines(table, shown, terminal)]
    folded = len(rows) < len(_all_rows(complete))
    for note in (rows_shown(len(complete.rows), table.omitted), _footer(changes, folded=folded)):
        if note:
            lines += [terminal.styled(line, "dim") for line in fill(note, terminal.width).split("\n")]
    return "\n".join(lines)


def _all_rows(table: Table) -> list[Row]:
    return [*flat_rows(table.rows), *table.totals]


def _heading(table: Table, terminal: Terminal) -> list[str]:
    if not table.title:
        return []
    title = clean(table.title)
    heading = fill(f"{title}: {clean(table.about)}" if table.about else title, terminal.width, "", "  ")
    if heading.startswith(title):
        heading = terminal.styled(title, "bold") + heading[len(title) :]
    return heading.split("\n")


# -- cells ------------------------------------------------------------------------------------------


class _Formatted:
    """A column as text: its cells, the margin of each in a tree, and its width.

    ``rounded`` returns the cells with rounded numbers.
    """

    def __init__(
        self, column: Column, cells: list[str], rounded: Callable[[], list[str]], margins: list[str], *, header: bool
    ) -> None:
        self.column = column
        self.rounded = rounded
        self.right = column.kind not in LEFT_ALIGNED
        self.cells = cells
        self.margins = margins
        self.title = clean(column.title) if header else ""
        self._measure()

    def _measure(self) -> None:
        if self.margins:
            widths = (len(m) + width_of(c) for m, c in zip(self.margins, self.cells, strict=True))
            self.content = max(widths, default=0)
        else:
            self.content = max(map(width_of, self.cells), default=0)
        self.natural = max(self.content, width_of(self.title))
        self.width = self.natural

    def round(self, cells: list[str]) -> None:
        """Show the cells with rounded numbers."""
        self.cells = cells
        self._measure()

    def compact(self) -> None:
        """Draw the branches of a deep tree with two characters for each level."""
        if max(map(len, self.margins), default=0) > _DEEP:
            self.margins = [compact_margin(margin) for margin in self.margins]
            self._measure()

    def least(self, limits: dict[str, int]) -> int:
        """The minimum width to which the column can be shortened."""
        kind = self.column.kind
        title = min(width_of(self.title), max(_TITLE, self.content))
        if kind == "shapes":
            content = max((width_of(shorten_shapes(cell, 0)) for cell in self.cells), default=0)
        elif kind in limits:
            content = min(self.content, limits[kind])
            if self.margins:
                widths = zip(map(len, self.margins), map(width_of, self.cells), strict=True)
                content = max((margin + min(width, limits["label"]) for margin, width in widths), default=0)
        else:
            content = self.content
        return min(max(content, title), self.natural)

    def fit(self) -> None:
        """Shorten the title and the cells to the width."""
        if self.width >= self.natural:
            return
        self.title = shorten_middle(self.title, self.width)
        kind = self.column.kind
        if kind == "prose":
            self.cells = [fill(cell, self.width) if width_of(cell) > self.width else cell for cell in self.cells]
        elif kind in _SHORTENED:
            shorten = _SHORTENED[kind]
            margins = self.margins or [""] * len(self.cells)
            self.cells = [shorten(c, self.width - width_of(m)) for m, c in zip(margins, self.cells, strict=True)]


_SHORTENED: dict[str, Callable[[str, int], str]] = {
    "path": shorten_path,
    "text": shorten_middle,
    "line": shorten_end,
    "shapes": shorten_shapes,
}


def _format(table: Table, rows: Sequence[Row], index: int, column: Column, formulas: int) -> _Formatted:
    def written(*, rounded: bool = False) -> list[str]:
        write = text_writer(column, formulas, rounded=rounded)
        return [clean(write(row.cells[index])) for row in rows]

    if index:
        return _Formatted(column, written(), partial(written, rounded=True), [], header=table.header)
    labelled = [*tree_rows(table.rows), *(("", row) for row in table.totals)]
    cells = [repeated(label, row.repeat) for label, (_, row) in zip(written(), labelled, strict=True)]
    margins = [margin for margin, _ in labelled] if any(row.children for row in table.rows) else []
    return _Formatted(column, cells, lambda: cells, margins, header=table.header)


# -- widths -----------------------------------------------------------------------------------------


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


class _Changes(NamedTuple):
    """Changes that fit a table to a width: columns without room, columns with shorter cells, and rounded numbers."""

    dropped: Sequence[_Formatted] = ()
    shortened: Sequence[_Formatted] = ()
    rounded: bool = False


def _fit_columns(columns: list[_Formatted], width: int, priority: int) -> _Changes:
    """Set the widths of the columns; return the changes.

    Numbers are rounded first.  Only columns of a lower ``priority`` are dropped.
    """
    if _total([column.natural for column in columns]) <= width:
        return _Changes()
    columns[0].compact()
    if _total([column.natural for column in columns]) <= width:
        return _Changes()
    rounded = _round(columns[1:])
    shown, dropped = list(columns), []
    droppable = sorted((c for c in columns[1:] if c.column.priority < priority), key=lambda c: c.column.priority)
    for column in droppable:
        limits = _TIGHT if column.column.priority >= _HIGH else _COMFORTABLE
        if _total([c.least(limits) for c in shown]) <= width:
            break
        shown.remove(column)
        dropped.append(column)
    starts = [column.natural for column in shown]
    for limits in (_COMFORTABLE, _TIGHT, _LEAST):
        floors = [column.least(limits) for column in shown]
        if _total(floors) <= width:
            break
        starts = floors
    _shrink(shown, starts, floors, width)
    shortened = [c for c in shown if c.width < c.content and c.column.kind in _SHORTENED]
    return _Changes(sorted(dropped, key=columns.index), shortened, rounded)


def _round(columns: Sequence[_Formatted]) -> bool:
    """Round the numbers of all columns that do not become wider, if one becomes narrower; return True if one does."""
    rounded = [(column, column.rounded()) for column in columns if column.column.kind in ROUNDED]
    widths = [(column.content, max(map(width_of, cells), default=0)) for column, cells in rounded]
    if all(width >= content for content, width in widths):
        return False
    for (column, cells), (content, width) in zip(rounded, widths, strict=True):
        if width <= content:
            column.round(cells)
    return True


def _shrink(columns: Sequence[_Formatted], starts: Sequence[int], floors: Sequence[int], width: int) -> None:
    """Reduce the widths, the widest reducible column first, down to their floors."""
    widths = list(starts)
    excess = _total(widths) - width
    while excess > 0:
        reducible = [i for i, floor in enumerate(floors) if widths[i] > floor]
        if not reducible:
            break
        # prose is broken into lines before anything is shortened
        place = max(reducible, key=lambda i: (columns[i].column.kind == "prose", widths[i]))
        widths[place] -= 1
        excess -= 1
    for column, reduced in zip(columns, widths, strict=True):
        column.width = reduced


# -- lines ------------------------------------------------------------------------------------------


def _table_lines(table: Table, columns: Sequence[_Formatted], terminal: Terminal) -> Iterator[str]:
    rule = terminal.styled("─" * _total([column.width for column in columns]), "dim")
    if table.header:
        title = _GAP.join(padded(column.title, column.width, right=column.right) for column in columns)
        yield terminal.styled(title.rstrip(), "bold")
        yield rule
    count = len(columns[0].cells)
    if any("\n" in cell for column in columns for cell in column.cells):
        rows: Iterator[str] = (_broken(columns, i) for i in range(count))
    else:
        rows = (_GAP.join(cells).rstrip() for cells in zip(*(_pad(c.cells, c) for c in columns), strict=True))
    first_total = count - len(table.totals)
    for number, line in enumerate(rows):
        if number < first_total:
            yield line
            continue
        if number == first_total:
            yield rule
        yield terminal.styled(line, "bold")


def _pad(cells: Sequence[str], column: _Formatted) -> list[str]:
    """The cells, aligned to the width of their column."""
    width, right = column.width, column.right
    if column.margins:
        margins = zip(column.margins, cells, strict=True)
        return [margin + padded(cell, width - len(margin), right=right) for margin, cell in margins]
    if all(map(str.isascii, cells)):
        return [cell.rjust(width) if right else cell.ljust(width) for cell in cells]
    return [padded(cell, width, right=right) for cell in cells]


def _broken(columns: Sequence[_Formatted], row: int) -> str:
    """A row of several lines."""
    parts = [_pad_broken(column, row) for column in columns]
    blank = [" " * column.width for column in columns]
    lines = []
    for line in zip_longest(*parts):
        filled = [blank[i] if cell is None else cell for i, cell in enumerate(line)]
        lines.append(_GAP.join(filled).rstrip())
    return "\n".join(lines)


def _pad_broken(column: _Formatted, row: int) -> list[str]:
    first, *others = column.cells[row].split("\n")
    margin = column.margins[row] if column.margins else ""
    return [padded(cell, column.width, right=column.right) for cell in (margin + first, *others)]


def _footer(changes: _Changes, *, folded: bool) -> str:
    """The line on rounded numbers, folded rows, and columns that were dropped or shortened; empty if there are none."""
    parts = ["rows of zeros folded"] if folded else []
    parts += ["numbers rounded"] if changes.rounded else []
    for change, columns in (("columns not shown", changes.dropped), ("shortened", changes.shortened)):
        if columns:
            parts.append(f"{change}: {', '.join(dict.fromkeys(clean(column.column.title) for column in columns))}")
    return f"{'; '.join(parts)} (--wide shows all)" if parts else ""
