"""The page of ``sweep``: the best points, the front of several figures, a chart of two, and reasons of refusals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from netcalc.analysis.sweep_report import Objective, Sweep, SweepPoint
from netcalc.diagnostics import written
from netcalc.render.page import Answer, Line, Page, Paragraph
from netcalc.render.plot import COUNT, Chart, Series
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected
from netcalc.render.table import Column, Kind, Row, Table

#: Kinds of columns by the unit of their figures; other figures are those of a file.
_KINDS: Mapping[str, Kind] = {"elements": "count", "MACs": "work", "FLOPs": "work", "bytes": "bytes"}
_UNITS = {"elements": COUNT, "MACs": "", "FLOPs": "", "bytes": "B", "": ""}
#: Reasons of refusals on a page.
_REASONS = 3
#: Rows of the front on a page.
_MOST = 20
#: Most points of the front in a chart.
_DRAWN = 1_500
#: Ratio of the greatest to the least number from which an axis is logarithmic.
_WIDE = 10


class _Sweep(Presentation[Sweep]):
    selected_list = ""
    listed = "points"

    def page(self, result: Sweep, rows: Selected[Any], view: View) -> Page:
        yield Paragraph(list(_head(result)))
        yield from self.charts(result, rows)
        refused = [*_refused(result)]
        if not result.best:
            yield Answer([Paragraph([*refused, Line("no point has figures")])])
            return
        if refused:
            yield Paragraph(refused)
        tables = [_table(result, result.best, _by(result.best_by), result.count - result.refused)]
        if result.front:
            shown = result.front[:_MOST]
            title = f"Pareto front of {', '.join(map(_by, result.pareto))}"
            tables.append(_table(result, shown, title, len(result.front)))
        yield Answer(tables)

    def data(self, result: Sweep, rows: Selected[Any], view: View) -> Table:
        """A row for each point; the best points of a sweep whose rows are in a file."""
        names, points = result.plan.names, result.best if result.rows is None else result.rows
        columns = [Column(name) for name in (*names, *result.figures, "reason")]
        cells = (
            [*map(point.values.get, names), *map(point.figures.get, result.figures), point.refused] for point in points
        )
        return Table(columns, list(map(Row, cells)))

    def charts(self, result: Sweep, rows: Selected[Any]) -> Iterator[Chart]:
        """Yield the points in the plane of two figures, with the front if there is one."""
        shown = [objective.figure for objective in result.pareto] or [*result.figures]
        if len(shown) < 2:
            return
        x, y = shown[:2]
        front = {point.place for point in result.front}
        others = [point for point in result.sample if point.place not in front]
        series = [_series("other points" if front else "points", others, x, y)] if others else []
        if front:
            drawn = result.front[:: 1 + len(result.front) // _DRAWN]
            series.append(_series("Pareto front", drawn, x, y))
        numbers = [[point[axis] for each in series for point in each.points] for axis in (0, 1)]
        if not numbers[0]:
            return
        log_x, log_y = map(_is_wide, numbers)
        x_unit, y_unit = (_UNITS[result.figures[name]] for name in (x, y))
        title = f"{result.spec}: {y} by {x}" + (", all points on the Pareto front" if not others else "")
        yield Chart(title, x, y, series, log_x, log_y, x_unit, y_unit)


PRESENTATIONS = {"Sweep": _Sweep()}


def _head(result: Sweep) -> Iterator[Line]:
    yield Line(f": {result.about}" if result.about else " ", result.spec)
    drawn = f", drawn of {result.plan.grid:,} by the seed {result.seed}" if result.random is not None else ""
    refused = f"; {result.refused:,} refused" if result.refused else ""
    yield Line(f"{result.count:,} points{drawn}{refused}")
    if result.file is not None:
        yield Line(f"all rows in {result.file}")
    yield from map(Line, result.notes)


def _by(objective: Objective) -> str:
    return f"{'greatest' if objective.greatest else 'least'} {objective.figure}"


def _refused(result: Sweep) -> Iterator[Line]:
    """Yield the most frequent reasons, each at its first point."""
    for reason in result.reasons[:_REASONS]:
        yield Line(f" refused: {reason.reason}", f"{reason.points:,}", hanging="  ")
    others = sum(reason.points for reason in result.reasons[_REASONS:])
    if others:
        yield Line(f" refused for other reasons: {len(result.reasons) - _REASONS:,} kinds", f"{others:,}")


def _table(result: Sweep, points: Sequence[SweepPoint], title: str, count: int) -> Table:
    plan = result.plan
    fixed = {name for name, values in plan.ranges.items() if len(values) == 1}
    columns = [
        *(
            Column(name, _kind(point.values[name] for point in points), 30 if name in fixed else 90 - place)
            for place, name in enumerate(plan.names)
        ),
        *(
            Column(name, _KINDS.get(unit, "real"), 60 - place)
            for place, (name, unit) in enumerate(result.figures.items())
        ),
    ]
    first = result.best_by.figure
    columns = [column._replace(priority=100) if column.title == first else column for column in columns]
    rows = [Row([*map(_value, point.values.values()), *map(point.figures.get, result.figures)]) for point in points]
    return Table(columns, rows, title=title, omitted=count - len(points))


def _kind(values: Iterable[Any]) -> Kind:
    return "total" if all(type(value) is int for value in values) else "name"


def _value(value: Any) -> Any:
    return value if type(value) in (int, str) or value is None else written(value)


def _series(name: str, points: Iterable[SweepPoint], x: str, y: str) -> Series:
    drawn = [point for point in points if None not in (point.figures[x], point.figures[y])]
    places = [(float(point.figures[x] or 0), float(point.figures[y] or 0)) for point in drawn]
    return Series(name, places, kind="scatter", labels=[point.title for point in drawn])


def _is_wide(numbers: Sequence[float]) -> bool:
    return min(numbers) > 0 and max(numbers) >= _WIDE * min(numbers)
