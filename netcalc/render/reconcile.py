"""The page of ``reconcile``: two totals, and the groups of terms that make their difference."""

from __future__ import annotations

from netcalc.analysis.reconciliation import ReconciledGroup, ReconciledTotal, Reconciliation
from netcalc.render.numbers import exact
from netcalc.render.page import Answer, Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.table import Column, Row, Table

_UNIT = "unit"


class _Groups(Presentation[Reconciliation]):
    selected_list = listed = "groups"
    columns = keys_of("phase", "op", "term", "executions", "before", "after", "difference")
    names = staticmethod(lambda group: (group.op or _UNIT, group.term))

    def page(self, result: Reconciliation, rows: Selected[ReconciledGroup], view: View) -> Page:
        yield Paragraph([Line(f": {result.spec}, {_passes(result)}", "reconcile")])
        table = self.data(result, rows, view)
        blank = [None] * (len(table.columns) - 3)
        shown = Row(["difference", "", *blank, result.difference])
        if result.groups:
            yield table._replace(totals=[shown], omitted=len(rows.others))
        if result.depth is not None and any(group.layers for group in rows.shown):
            yield _layers(rows, len(result.phases) > 1)
        if result.notes:
            yield Paragraph([Line(note, hanging="  ") for note in result.notes])
        yield Answer([Paragraph([_total(result.before), _total(result.after), _difference(result)])])

    def data(self, result: Reconciliation, rows: Selected[ReconciledGroup], view: View) -> Table:
        columns = [
            Column("operation", "text"),
            Column("work", "text"),
            Column("executions", "count", priority=20),
            Column(result.before.convention, "total", priority=30, key="before"),
            Column(result.after.convention, "total", priority=30, key="after"),
            Column("difference", "total"),
        ]
        cells = ([g.op or _UNIT, g.term, g.executions, g.before, g.after, g.difference] for g in rows.shown)
        if len(result.phases) == 1 and not view.in_full:
            return Table(columns, [Row(row) for row in cells])
        columns.insert(2, Column("pass", "text", key="phase"))
        return Table(
            columns,
            [Row([*row[:2], g.phase if g.op else "", *row[2:]]) for g, row in zip(rows.shown, cells, strict=True)],
        )


PRESENTATIONS = {"Reconciliation": _Groups()}


def _layers(rows: Selected[ReconciledGroup], passes: bool) -> Table:
    columns = [
        Column("layer", "path"),
        Column("operation", "text"),
        Column("work", "text"),
        *([Column("pass", "text")] if passes else []),
        Column("executions", "count", priority=20),
        Column("difference", "total"),
    ]
    cells = (
        [layer.path, group.op, group.term, *([group.phase] if passes else []), layer.executions, layer.difference]
        for group in rows.shown
        for layer in group.layers
    )
    return Table(columns, [Row(row) for row in cells])


def _passes(result: Reconciliation) -> str:
    if result.optimizer is not None:
        return f"one step of training with {result.optimizer}"
    return "one forward pass" if len(result.phases) == 1 else "one forward and backward pass"


def _total(total: ReconciledTotal) -> Line:
    return Line(f": {exact(total.work)} {total.unit}", total.convention)


def _difference(result: Reconciliation) -> Line:
    groups = f"{len(result.groups):,} group" + ("" if len(result.groups) == 1 else "s")
    sums = f", the sum of {groups}" if result.groups else ": the conventions count the same"
    return Line(f": {exact(result.difference)}{sums}", "difference")
