"""Tables as CSV (RFC 4180, with plain line ends).

A text that a spreadsheet would evaluate as a formula begins with an apostrophe.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from netcalc.dims import Poly
from netcalc.render.cells import data_writer
from netcalc.render.escapes import clean
from netcalc.render.table import Table

#: First characters of a formula in spreadsheets.
_FORMULA = ("=", "+", "-", "@")


def table_csv(table: Table) -> Iterator[str]:
    """Yield the lines of the table: titles, then one line a row, without summary rows."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="")
    writers = [data_writer(column) for column in table.columns]
    writer.writerow([_safe(None, column.key or column.title) for column in table.columns])
    yield buffer.getvalue()
    for row in table.rows:
        buffer.seek(0)
        buffer.truncate()
        writer.writerow([_safe(cell, write(cell)) for write, cell in zip(writers, row.cells, strict=True)])
        yield buffer.getvalue()


def safe(text: str) -> str:
    """Return a text that is clean, and no formula of a spreadsheet; numbers stay."""
    text = clean(text)
    return f"'{text}" if text[:1] in _FORMULA and not _is_number(text) else text


def _safe(cell: object, written: object) -> object:
    """The cell as it is ``written``: clean, and no formula of a spreadsheet; numbers and symbolic sizes stay."""
    if not isinstance(written, str):
        return written
    return clean(written) if cell.__class__ is Poly else safe(written)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
