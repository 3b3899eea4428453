"""The page of ``budget``: the answer, figures with their limits, and what weighs most in those that exceed them."""

from __future__ import annotations

from collections.abc import Iterator

from netcalc.analysis.budget import BudgetReport, BudgetRow
from netcalc.analysis.conventions import convention_named
from netcalc.analysis.figures import FIGURES
from netcalc.render.numbers import bytes_text, exact
from netcalc.render.page import Answer, Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.table import Column, Row, Table
from netcalc.spec.document import BYTE_LIMITS


class _Budget(Presentation[BudgetReport]):
    selected_list = listed = "rows"
    columns = keys_of("figure", "counted", "limit", "excess")
    names = staticmethod(lambda row: (row.figure,))

    def page(self, result: BudgetReport, rows: Selected[BudgetRow], view: View) -> Page:
        exceeded = [row for row in result.rows if not row.ok]
        answer = f"{len(exceeded)} of {len(result.rows)} limits exceeded" if exceeded else "within the budget"
        yield Answer([Paragraph([Line(f": {result.spec}", answer, "bad" if exceeded else "good")])])
        yield self.data(result, rows, view)._replace(omitted=len(rows.others))
        for row in exceeded:
            if row.heaviest:
                yield _heaviest(row)
        if any(row.figure in ("macs", "flops") for row in result.rows):
            yield Paragraph([Line(f"work is counted as {result.convention} does")])
        if any(row.figure == "macts" for row in result.rows):
            convention = result.convention if convention_named(result.convention).counts_activations else "timm"
            yield Paragraph([Line(f"macts are counted as {convention} does")])

    def data(self, result: BudgetReport, rows: Selected[BudgetRow], view: View) -> Table:
        """Figures with their limits; numbers alone for programs."""
        columns = [Column("figure"), Column("counted", "total"), Column("limit", "total")]
        columns += [Column("over", "total"), Column("result"), Column("limit from", "prose", priority=20)]
        if view.in_full:
            cells = ([r.figure, r.counted, r.limit, r.excess, _result(r), r.source] for r in rows.shown)
        else:
            columns = [column._replace(kind="figure" if column.kind == "total" else column.kind) for column in columns]
            cells = (
                [r.figure, _text(r, r.counted), _text(r, r.limit), _over(r), _result(r), r.source] for r in rows.shown
            )
        return Table(columns, [Row(row) for row in cells])


PRESENTATIONS = {"BudgetReport": _Budget()}


def _result(row: BudgetRow) -> str:
    return "ok" if row.ok else "EXCEEDED"


def _text(row: BudgetRow, count: int) -> str:
    unit = "bytes" if row.figure in BYTE_LIMITS else FIGURES[row.figure].unit
    return bytes_text(count) if unit == "bytes" else exact(count)


def _over(row: BudgetRow) -> str:
    """The excess and its share of the limit, or nothing."""
    if row.ok:
        return ""
    percentage = 100 * row.excess / row.limit if row.limit else 0
    digits = 0 if percentage >= 10 else 2
    return _text(row, row.excess) + (f", {percentage:,.{digits}f} %" if row.limit else "")


def _heaviest(row: BudgetRow) -> Table:
    title = f"most {row.figure}" if "record" not in row.source else f"growth of {row.figure}"
    columns = [Column(title, "path"), Column("operation"), Column("executions", "total", priority=20)]
    columns.append(Column(row.figure, "figure"))
    return Table(columns, [*_parts(row)])


def _parts(row: BudgetRow) -> Iterator[Row]:
    for part in row.heaviest:
        yield Row([part.path, part.op or "tensor", part.repeat, _text(row, part.counted)])
