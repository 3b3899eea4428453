"""The page of ``reproduce``: published figures beside computed ones; of a single figure its working too."""

from __future__ import annotations

from collections.abc import Iterator

from netcalc.render.page import Answer, Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.table import Column, Row, Table
from netcalc.reproduction.report import PublishedFigure, Reproduction, Working


class _Figures(Presentation[Reproduction]):
    selected_list = listed = "figures"
    columns = keys_of("figure", "verdict", "value")
    names = staticmethod(lambda figure: (figure.figure, *figure.models))

    def page(self, result: Reproduction, rows: Selected[PublishedFigure], view: View) -> Page:
        """A table of figures, or the page of a single one."""
        if len(rows.shown) == 1:
            yield from _single(rows.shown[0])
            return
        yield _table(rows, view)
        reasons = [
            Line(f": {row.reason}", row.figure, hanging="  ")
            for row in rows.shown
            if row.reason and row.verdict in ("explained", "differs")
        ]
        if reasons and view.format == "table":
            yield Paragraph(reasons)
        yield Answer([Paragraph([_total(result)])])

    def data(self, result: Reproduction, rows: Selected[PublishedFigure], view: View) -> Table:
        return _table(rows, view)


#: Styles of verdicts.
_STYLES = {"reproduced": "good", "explained": "good", "quoted": "bold", "differs": "bad"}

PRESENTATIONS = {"Reproduction": _Figures()}


def _table(rows: Selected[PublishedFigure], view: View) -> Table:
    columns = [
        Column("figure", "path"),
        Column("printed", "prose"),
        Column("computed", "prose"),
        Column("verdict"),
    ]
    if view.in_full or view.format == "markdown":
        columns += [Column(name, "prose") for name in ("convention", "reason", "where")]
    names = ("figure", "printed", "computed", "verdict", "convention", "reason", "where")
    cells = ([getattr(row, name) for name in names[: len(columns)]] for row in rows.shown)
    return Table(columns, [Row(row) for row in cells], omitted=len(rows.others))


def _total(result: Reproduction) -> Line:
    """Return how many figures are reproduced, and what the others are."""
    computed = len(result.figures) - result.quoted
    others = result.explained
    said = [] if not others else ["the others explained" if not result.differing else f"{others:,} explained"]
    if result.quoted:
        said.append(f"{result.quoted:,} more quoted")
    if result.differing:
        said.append(f"{result.differing:,} DIFFER without a reason")
    lead = f"reproduced {result.reproduced:,} of {computed:,}"
    return Line("".join(f"; {part}" for part in said), lead, "good" if result.ok else "bad")


def _single(figure: PublishedFigure) -> Iterator[Paragraph | Answer]:
    """Yield the page of a figure: what is printed and computed, and how."""
    lines = [Line(f": {figure.what}" if figure.what else "", figure.figure)]
    lines.append(Line(", ".join(part for part in (figure.where, figure.source) if part), hanging="  "))
    if figure.convention:
        lines.append(Line(f"counted: {figure.convention}", hanging="  "))
    yield Paragraph(lines)
    if figure.working:
        yield Paragraph([Line(f": {figure.formula}", "formula", hanging="  ")])
        yield from (Paragraph([*_working(value)]) for value in figure.working)
    computed = f", computed {figure.computed}" if figure.computed else ""
    verdict = Line(f": printed {figure.printed}{computed}", figure.verdict, _STYLES[figure.verdict])
    yield Answer([Paragraph([verdict, *([Line(figure.reason, hanging="  ")] if figure.reason else [])])])


def _working(value: Working) -> Iterator[Line]:
    number = f"{value.value:,}" if isinstance(value.value, int) else f"{value.value:.10g}"
    source = f" = {value.formula}" if value.formula else ""
    about = f" ({value.about})" if value.about else ""
    yield Line(f"{source} = {number}{about}", value.name, hanging="  ")
    if value.command:
        yield Line(value.command, hanging="  ")
