"""Tables as CSV (RFC 4180, with plain line ends)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from netcalc.render.cells import data_writer
from netcalc.render.table import Table

__all__ = ["table_csv"]


def table_csv(table: Table) -> Iterator[str]:
    """Yield the lines of the table: titles, then one line a row, without summary rows."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="")
    writers = [data_writer(column, table.layout) for column in table.columns]
    writer.writerow([column.key or column.title for column in table.columns])
    yield buffer.getvalue()
    for row in table.rows:
        buffer.seek(0)
        buffer.truncate()
        writer.writerow([write(cell) for write, cell in zip(writers, row.cells, strict=True)])
        yield buffer.getvalue()
