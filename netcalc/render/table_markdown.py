"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from netcalc.render.cells import text_writer
from netcalc.render.escapes import markup
from netcalc.render.numbers import repeated
from netcalc.render.table import LEFT_ALIGNED, Table, rows_shown
from netcalc.render.tree import flat_rows


def table_markdown(table: Table) -> Iterator[str]:
    """Yield the lines of the table; columns without any value are left out, and nothing is shortened."""
    if table.title:
        yield f"**{markup(table.title)}**: {markup(table.about)}" if table.about else f"**{markup(table.title)}**"
        yield ""
    rows = [*flat_rows(table.rows), *table.totals]
    writers = [text_writer(column) for column in table.columns]
    columns = [[markup(write(row.cells[i]), cell=True) for row in rows] for i, write in enumerate(writers)]
    if columns:
        columns[0] = [repeated(cell, row.repeat) for cell, row in zip(columns[0], rows, strict=True)]
    shown = [i for i, cells in enumerate(columns) if i == 0 or any(cells)]
    yield "| " + " | ".join(markup(table.columns[i].title, cell=True) for i in shown) + " |"
    yield "|" + "|".join(":--" if table.columns[i].kind in LEFT_ALIGNED else "--:" for i in shown) + "|"
    for cells in zip(*(columns[i] for i in shown), strict=True):
        yield "| " + " | ".join(cells) + " |"
    if table.omitted:
        yield ""
        yield rows_shown(len(table.rows), table.omitted)
