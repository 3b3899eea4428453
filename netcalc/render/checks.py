"""The page of ``check``: the checks of each spec, and how many failed."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from netcalc.analysis.checks import CheckReport, CheckRow
from netcalc.render.page import Answer, Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.table import Column, Row, Table


def _sarif(result: CheckReport, rows: Selected[CheckRow]) -> Iterable[str]:
    from netcalc.render.findings import sarif
    from netcalc.render.json_lines import json_lines

    return json_lines(sarif(rows.shown))


def _annotations(result: CheckReport, rows: Selected[CheckRow]) -> Iterable[str]:
    from netcalc.render.findings import github

    return github(rows.shown)


class _Checks(Presentation[CheckReport]):
    selected_list = listed = "rows"
    columns = keys_of("spec", "check", "counted", "ok")
    names = staticmethod(attrgetter("spec", "check"))
    formats = {"sarif": _sarif, "github": _annotations}  # noqa: RUF012 - never changed

    def page(self, result: CheckReport, rows: Selected[CheckRow], view: View) -> Page:
        specs = len(dict.fromkeys(row.spec for row in result.rows))
        failed = [row for row in result.rows if not row.ok]
        passed = len(result.rows) - len(failed)
        answer = f"{len(failed):,} of {len(result.rows):,} checks failed" if failed else f"all {passed:,} checks passed"
        yield Answer(
            [Paragraph([Line(f" of {specs:,} spec{'s' * (specs != 1)}", answer, "bad" if failed else "good")])]
        )
        yield self.data(result, rows, view)._replace(omitted=len(rows.others))
        # a terminal may have no room for the details, and prints errors of specs with their places
        figures = [row for row in failed if row.check != "error"]
        if figures and view.format == "table" and view.width is not None:
            yield Paragraph([Line(f": {row.detail}", f"{row.spec}, {row.check}", hanging="  ") for row in figures])

    def data(self, result: CheckReport, rows: Selected[CheckRow], view: View) -> Table:
        columns = [
            Column("spec", "path"),
            Column("check"),
            Column("expected", "prose"),
            Column("counted", "total"),
            Column("result"),
            Column("detail", "prose", priority=20),
        ]
        cells = ([r.spec, r.check, r.expected, r.counted, "ok" if r.ok else "FAILED", r.detail] for r in rows.shown)
        return Table(columns, [Row(row) for row in cells])


PRESENTATIONS = {"CheckReport": _Checks()}
