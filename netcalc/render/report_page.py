"""The page of ``netcalc report`` as a table for terminals and programs: the totals of its networks."""

from __future__ import annotations

from netcalc.analysis.figures import FIGURES
from netcalc.analysis.page import ReportPage
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected
from netcalc.render.table import Column, Row, Table


class _ReportPage(Presentation[ReportPage]):
    selected_list = ""
    listed = "networks"

    def page(self, result: ReportPage, rows: Selected[object], view: View) -> Page:
        yield self.data(result, rows, view)
        yield Paragraph([Line("", "-o FILE.html writes the page for a browser")])

    def data(self, result: ReportPage, rows: Selected[object], view: View) -> Table:
        """Totals, a row for each figure."""
        names = list(dict.fromkeys(name for page in result.networks for name in page.summary.shown_totals))
        columns = [Column("figure"), *(Column(page.title, "total") for page in result.networks)]
        cells = ([name, *(FIGURES[name].of(page.summary.totals) for page in result.networks)] for name in names)
        return Table(columns, [Row(row) for row in cells])


PRESENTATIONS = {"ReportPage": _ReportPage()}
