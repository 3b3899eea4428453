"""A typed table: columns with a kind and a priority, and rows of values.

The cells of a table are values (whole numbers, symbolic sizes, tensor types), and each output format has one writer:
:mod:`~netcalc.render.table_text`, :mod:`~netcalc.render.table_markdown`, :mod:`~netcalc.render.table_csv` and
:mod:`~netcalc.render.table_html`.  The kind of a column says how its values are written
(:mod:`~netcalc.render.cells`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from netcalc.dims import Dim

Kind: TypeAlias = Literal[
    "path",  # a path with dots, shortened in the middle where it is too long
    "name",  # a name that is never shortened
    "text",  # a name or a short phrase, shortened in the middle
    "prose",  # a sentence, broken into lines
    "line",  # a sentence, cut at its end
    "shape",
    "shapes",  # a sequence of tensor types
    "named_shapes",  # pairs of a name and a shape
    "count",  # elements, executions; zero is written as nothing
    "work",  # MACs, FLOPs; zero is written
    "bytes",
    "total",  # a number of any unit, with all its digits; zero is written
    "amount",  # a number in three or four digits with a unit prefix
    "figure",  # a number in words, with the unit of its row
    "share",
    "difference",
    "ratio",
    "real",
    "milliseconds",
    "seconds",  # with a unit of a suitable size
    "rate",
    "percentage",
]

LEFT_ALIGNED: frozenset[Kind] = frozenset({"path", "name", "text", "prose", "line", "shape", "shapes", "named_shapes"})

#: Priority of a column that is never dropped.
ALWAYS = 100


class Column(NamedTuple):
    """A column.

    In a terminal that is too narrow, columns with the lowest ``priority`` are dropped first.  ``key`` is the name in
    CSV, by default the title.  ``digits`` is the number of significant digits of an amount.  Names in ``symbols`` come
    first in the terms of formulas.
    """

    title: str
    kind: Kind = "text"
    priority: int = ALWAYS
    key: str = ""
    digits: int = 3
    symbols: tuple[str, ...] = ()


class Row(NamedTuple):
    """A row; ``repeat`` is the number of instances that it stands for, ``children`` are the rows below it.

    All figures of a ``zero`` row are 0; a terminal shows adjacent ones as one row.
    """

    cells: Sequence[Any]
    repeat: int = 1
    children: Sequence[Row] = ()
    zero: bool = False


class Table(NamedTuple):
    """Columns and rows, and summary rows that are set apart at the end.

    ``title`` and ``about`` form a heading.  As text,
    a table without ``header`` has no titles of columns.  ``omitted`` is the number of rows that a selection left out,
    for a line below a table without sums.  ``notes`` are remarks on how to read the rows.
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    totals: Sequence[Row] = ()
    title: str = ""
    about: str = ""
    header: bool = True
    omitted: int = 0
    notes: Sequence[str] = ()


class Tied(NamedTuple):
    """Parameters that are counted at another layer."""

    value: Dim


class Elements(NamedTuple):
    """A number of elements in a column of several units."""

    value: Dim


class Uncounted(NamedTuple):
    """Work that the counting convention does not count."""

    value: Dim = 0


class Share(NamedTuple):
    """A part of a whole."""

    part: Dim
    whole: Dim


class Sides(NamedTuple):
    """Values of several networks, None for a network without a value; equal values are written once."""

    values: Sequence[Any]


def is_folded(rows: Sequence[Row]) -> bool:
    """Return True if a row, or one below it, stands for several instances."""
    return any(row.repeat > 1 or is_folded(row.children) for row in rows)


def rows_shown(shown: int, omitted: int) -> str:
    """Return the line on rows that a selection left out; empty if it left out none."""
    return f"{shown:,} of {shown + omitted:,} rows shown" if omitted else ""
