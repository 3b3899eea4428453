"""The page of ``memory --over``: totals at several sizes, as a grid over two ranges or a row for each point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from netcalc.analysis.memory_table import MemoryPoint, MemoryTable
from netcalc.render.numbers import exact
from netcalc.render.page import Answer, Line, Page, Paragraph
from netcalc.render.plot import Drawing
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.signature import element_type
from netcalc.render.table import Column, Row, Table

#: Figures of a point with their titles.
_FIGURES = {
    "weights": "weights",
    "buffers": "buffers",
    "activations": "activations",
    "gradients": "gradients",
    "states": "states",
    "saved": "kept",
    "temporaries": "others",
}


class _MemoryTable(Presentation[MemoryTable]):
    selected_list = "points"
    listed = "points"
    columns = keys_of("total", *_FIGURES)
    names = staticmethod(lambda point: (point.title,))

    def page(self, result: MemoryTable, rows: Selected[MemoryPoint], view: View) -> Page:
        """The totals, with the kinds of memory unless there are two ranges."""
        yield Paragraph(list(_head(result)))
        if len(result.ranges) == 2 and not view.selection.active:
            tables: Sequence[Table] = [_grid(result, name) for name in result.conventions]
        else:
            tables = [_long(result, rows)]
        reasons = [Line(f"{_words(point)}: {point.refused}") for point in rows.shown if point.refused is not None]
        yield Answer([*tables, *([Paragraph(reasons)] if reasons else [])])

    def charts(self, result: MemoryTable, rows: Selected[MemoryPoint]) -> Iterator[Drawing]:
        """Yield the memory over the ranges."""
        from netcalc.render.memory_chart import table_charts

        yield from table_charts(result, rows.shown)

    def data(self, result: MemoryTable, rows: Selected[MemoryPoint], view: View) -> Table:
        """A row for each point, for CSV."""
        names = [*result.ranges, *_FIGURES]
        of_caches = [f"caches {name}" for name in _caching(result)]
        totals = [f"total {name}" for name in result.conventions]
        cells = (
            [
                *point.sizes.values(),
                *(getattr(point, name) for name in _FIGURES),
                *(point.caches.get(name) for name in _caching(result)),
                *(point.totals.get(name) for name in result.conventions),
                point.refused,
            ]
            for point in rows.shown
        )
        return Table([Column(name) for name in (*names, *of_caches, *totals, "refused")], list(map(Row, cells)))


PRESENTATIONS = {"MemoryTable": _MemoryTable()}


def _head(table: MemoryTable) -> Iterator[Line]:
    yield Line(f": {table.about}" if table.about else " ", table.spec)
    yield from element_type(table.dtype, table.checkpoint_dtype, table.stored_as)
    if table.phase is not None:
        yield Line(f"phase {table.phase}")
    yield from map(Line, table.notes)


def _grid(table: MemoryTable, convention: str) -> Table:
    """Totals over two ranges: the first down, the second across."""
    (down, rows), (across, columns) = table.ranges.items()
    points = iter(table.points)
    cells = [Row([_value(row), *(next(points).totals.get(convention) for _ in columns)]) for row in rows]
    about = "" if convention == "training" or not _caching(table) else f", caches as {convention}"
    return Table(
        [Column(down, "name"), *(Column(f"{across} {_value(value)}", "bytes") for value in columns)],
        cells,
        title=f"memory in all{about}",
    )


def _long(table: MemoryTable, rows: Selected[MemoryPoint]) -> Table:
    """The kinds of memory at each point."""
    complete = [point for point in table.points if point.refused is None]
    figures = [name for name in _FIGURES if any(getattr(point, name) for point in complete)]
    caching = _caching(table)
    suffixes = {name: f", {name}" if len(table.conventions) > 1 else "" for name in table.conventions}
    columns = [
        *(Column(name, "name") for name in table.ranges),
        *(Column(_FIGURES[name], "bytes", 50) for name in figures),
        *(Column(f"caches{suffixes[name]}", "bytes", 60) for name in caching),
        *(Column(f"all{suffixes[name]}", "bytes") for name in table.conventions),
    ]
    cells = (
        [
            *map(_value, point.sizes.values()),
            *(getattr(point, name) for name in figures),
            *(point.caches.get(name) for name in caching),
            *(point.totals.get(name) for name in table.conventions),
        ]
        for point in rows.shown
    )
    return Table(columns, list(map(Row, cells)), omitted=len(rows.others))


def _caching(table: MemoryTable) -> list[str]:
    """Return the conventions, if the network keeps caches anywhere."""
    return [name for name in table.conventions if any(point.caches.get(name) for point in table.points)]


def _value(value: Any) -> str:
    return exact(value) if type(value) is int else str(value)


def _words(point: MemoryPoint) -> str:
    return ", ".join(f"{name} {_value(value)}" for name, value in point.sizes.items())
