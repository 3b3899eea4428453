"""Tables in HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from netcalc.render.cells import text_writer
from netcalc.render.escapes import clean
from netcalc.render.numbers import repeated
from netcalc.render.table import LEFT_ALIGNED, Table
from netcalc.render.tree import tree_rows

_LEFT = "text-align: left; white-space: pre"
_RIGHT = "text-align: right; white-space: pre"


def table_html(table: Table) -> str:
    """Return the table as an element; columns without any value are left out."""
    labelled = [*tree_rows(table.rows), *(("", row) for row in table.totals)]
    writers = [text_writer(column) for column in table.columns]
    cells = [[write(cell) for write, cell in zip(writers, row.cells, strict=True)] for _, row in labelled]
    for line, (margin, row) in zip(cells, labelled, strict=True):
        line[0] = margin + repeated(line[0], row.repeat)
    shown = [i for i in range(len(table.columns)) if i == 0 or any(line[i] for line in cells)]
    styles = [_LEFT if column.kind in LEFT_ALIGNED else _RIGHT for column in table.columns]

    def element(tag: str, filled: Iterable[str]) -> str:
        values = list(filled)
        return (
            "<tr>" + "".join(f'<{tag} style="{styles[i]}">{escape(clean(values[i]))}</{tag}>' for i in shown) + "</tr>"
        )

    body = "".join(element("td", line) for line in cells)
    return f"<table><thead>{element('th', (c.title for c in table.columns))}</thead><tbody>{body}</tbody></table>"
