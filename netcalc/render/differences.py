"""The page of ``reconcile MODEL MODEL``: the layers whose parameters or work make the difference of two networks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

from netcalc.analysis.differences import Difference, DifferentLayer, NetworkReconciliation
from netcalc.render.numbers import exact
from netcalc.render.page import Answer, Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected
from netcalc.render.table import Column, Row, Table


def _amount(figure: str) -> Any:
    """Return the key that sorts by the size of a difference; that of symbolic sizes is zero."""

    def key(layer: DifferentLayer) -> int:
        value = getattr(layer, figure).difference
        return abs(value) if isinstance(value, int) else 0

    return key


_KEYS = {
    "path": attrgetter("path"),
    "op": attrgetter("op"),
    "repeat": attrgetter("repeat"),
    "params": _amount("params"),
    "work": _amount("work"),
}


class _Layers(Presentation[NetworkReconciliation]):
    selected_list = "layers"
    listed = "layers"
    columns = _KEYS

    def rows(self, result: NetworkReconciliation, view: View) -> Sequence[DifferentLayer]:
        return result.differing

    def page(self, result: NetworkReconciliation, rows: Selected[DifferentLayer], view: View) -> Page:
        first, second = result.specs
        yield Paragraph([Line(f": {first} and {second}, counted as {result.convention} does", "reconcile")])
        for figure, title in (("params", "parameters"), ("work", result.unit)):
            ordered = rows.shown if view.selection.sort else sorted(rows.shown, key=_amount(figure), reverse=True)
            table = _layers_table(result, ordered, figure, title)
            if table.rows:
                yield table
        if result.operations:
            yield _operations_table(result)
        if result.notes:
            yield Paragraph([Line(note, hanging="  ") for note in result.notes])
        yield Answer([Paragraph([*_answer(result)])])

    def data(self, result: NetworkReconciliation, rows: Selected[DifferentLayer], view: View) -> Table:
        columns = [Column("layer", "path", key="path"), Column("operation", key="op"), Column("repeat", "total")]
        for figure in ("params", "work"):
            columns += [Column(f"{name} {figure}", "total") for name in result.specs]
            columns.append(Column(f"{figure} difference", "total"))
        cells = ([row.path, row.op, row.repeat, *_cells(row.params), *_cells(row.work)] for row in rows.shown)
        return Table(columns, [Row(row) for row in cells])


PRESENTATIONS = {"NetworkReconciliation": _Layers()}


def _cells(figure: Difference) -> list[Any]:
    return [figure.before, figure.after, figure.difference]


def _layers_table(result: NetworkReconciliation, rows: Sequence[DifferentLayer], figure: str, title: str) -> Table:
    """The layers that differ in a figure, and the others, which add up to the totals."""
    differing = [row for row in rows if getattr(row, figure).difference != 0]
    hidden = [row for row in result.differing if getattr(row, figure).difference != 0]
    columns = [
        Column(f"{title} of", "path"),
        Column("operation", priority=20),
        *(Column(name, "total", 60) for name in result.specs),
        Column("difference", "total"),
    ]
    whole: Difference = getattr(result, figure)
    same = _rest(whole, [getattr(row, figure) for row in hidden])
    totals = [Row(["all other layers", "", same, same, 0])] if same != 0 else []
    totals.append(Row(["total", "", *_cells(whole)]))
    shown = [Row([row.path, row.op, *_cells(getattr(row, figure))]) for row in differing]
    return Table(columns, shown, totals if len(shown) == len(hidden) else totals[-1:], omitted=len(hidden) - len(shown))


def _rest(whole: Difference, differing: Sequence[Difference]) -> Any:
    """Return the figure of the first network without the layers that differ, which is that of the second one too."""
    rest: Any = whole.before
    for figure in differing:
        rest = rest - (0 if figure.before is None else figure.before)
    return rest


def _operations_table(result: NetworkReconciliation) -> Table:
    columns = [
        Column("by operation"),
        *(Column(f"in {name}", "count", 10) for name in result.specs),
        Column("Δ executions", "difference", 30),
        Column("Δ parameters", "total"),
        Column(f"Δ {result.unit}", "total"),
    ]
    cells = (
        [
            row.op,
            row.executions.before,
            row.executions.after,
            row.executions.difference or None,
            row.params.difference,
            row.work.difference,
        ]
        for row in result.operations
    )
    return Table(columns, [Row(row) for row in cells])


def _answer(result: NetworkReconciliation) -> Iterator[Line]:
    for figure, lead, unit in (("params", "parameters", ""), ("work", "work", f" {result.unit}")):
        whole: Difference = getattr(result, figure)
        assert whole.before is not None and whole.after is not None
        count = sum(getattr(row, figure).difference != 0 for row in result.differing)
        rows = f", the sum of {count:,} row{'s' * (count != 1)}" if count else ": no layer differs"
        text = f": {exact(whole.before)} and {exact(whole.after)}{unit}, difference {exact(whole.difference)}{rows}"
        yield Line(text, lead, hanging="  ")
    count = result.equal.layers
    yield Line(f": {count:,} layer{'s' * (count != 1)} at the same path", "equal")
