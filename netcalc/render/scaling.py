"""The page of ``scaling``: formulas, values and shares at sizes, crossings, and a log–log chart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import log

from netcalc.analysis.figures import FIGURES
from netcalc.analysis.scaling import FigureScaling, PartCrossing, PartScaling, ScalingReport
from netcalc.render.page import Answer, Line, Page, Paragraph
from netcalc.render.plot import Chart, Series
from netcalc.render.plot.charts import COUNT, Mark
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.table import Column, Row, Share, Table

#: Terms of a formula whose shares are shown.
_MOST_TERMS = 3
#: Parts in a chart.
_MOST_PARTS = 5
_TITLES = {"params": "parameters", "macs": "MACs", "flops": "FLOPs", "flops_total": "FLOPs with the backward pass"}


class _Scaling(Presentation[ScalingReport]):
    selected_list = "crossings"
    columns = keys_of("size", "figure", "over", "first", "second")
    names = staticmethod(lambda crossing: (crossing.first, crossing.second))

    def page(self, result: ScalingReport, rows: Selected[PartCrossing], view: View) -> Page:
        yield Paragraph(list(_head(result)))
        for figure in result.figures:
            yield _table(figure, result)
        yield from self.charts(result, rows)
        notes = [Line(f"assuming {claim}") for claim in result.assumptions]
        if notes:
            yield Paragraph(notes)
        yield Answer([Paragraph([*map(_formula, result.figures), *map(_crossing, rows.shown)])])

    def data(self, result: ScalingReport, rows: Selected[PartCrossing], view: View) -> Table:
        columns = [Column(name) for name in ("figure", "over", "first", "second", "size", "equal", "proved", "beyond")]
        return Table(columns, [Row(list(crossing)) for crossing in rows.shown])

    def charts(self, result: ScalingReport, rows: Selected[PartCrossing]) -> Iterator[Chart]:
        for figure in result.figures:
            if figure.figure not in ("macs", "params"):
                continue
            sizes = [point.size for point in figure.points]
            own = [part for part in result.parts if (part.figure, part.over) == (figure.figure, figure.over)]
            series = [Series("all", [(float(point.size), float(point.value)) for point in figure.points])]
            series += [
                Series(part.path, list(zip(map(float, sizes), map(float, part.values), strict=True)))
                for part in own[:_MOST_PARTS]
            ]
            title = f"{_TITLES[figure.figure]} of {result.spec}"
            name, unit = ("", "MAC") if figure.figure == "macs" else (_TITLES[figure.figure], COUNT)
            marks = list(_marks(own, result))
            yield Chart(title, figure.over, name, series, log_x=True, log_y=True, y_unit=unit, marks=marks)


PRESENTATIONS = {"ScalingReport": _Scaling()}


def _marks(parts: Sequence[PartScaling], result: ScalingReport) -> Iterator[Mark]:
    """Yield the crossings of the parts of a chart, on the line of the greater one behind them."""
    shown = {part.path: part for part in parts[:_MOST_PARTS]}
    for crossing in result.crossings:
        part = shown.get(crossing.first)
        if part is None or crossing.second not in shown or (part.figure, part.over) != (crossing.figure, crossing.over):
            continue
        sizes = next(
            [point.size for point in figure.points]
            for figure in result.figures
            if (figure.figure, figure.over) == (crossing.figure, crossing.over)
        )
        for (low, below), (high, above) in pairwise(zip(sizes, part.values, strict=True)):
            if low <= crossing.size <= high and below > 0:
                share = log(crossing.size / low) / log(high / low)
                yield Mark(float(crossing.size), below * (above / below) ** share, f"{crossing.over} {crossing.size:,}")
                break


def _head(result: ScalingReport) -> Iterator[Line]:
    yield Line(f": {result.about}" if result.about else " ", result.spec)
    if len(result.defaults) > 1:
        at = ", ".join(f"{name} = {size:,}" for name, size in result.defaults.items())
        yield Line(f"each size alone, the others at {at}")
    yield Line(f"counted as {result.convention} does")


def _formula(figure: FigureScaling) -> Line:
    kind = "no power" if figure.kind is None else figure.kind
    return Line(f" {figure.unit}; {kind}", f"{_TITLES[figure.figure]} = {figure.formula}")


def _crossing(crossing: PartCrossing) -> Line:
    where = f"{'at' if crossing.equal else 'after'} {crossing.over} {crossing.size:,}"
    searched = "" if crossing.proved else " (found by search)"
    beyond = f"; there {crossing.beyond} does not hold" if crossing.beyond else ""
    figure = _TITLES[crossing.figure]
    return Line(f" overtakes {crossing.second} {where} by {figure}{searched}{beyond}", crossing.first)


def _table(figure: FigureScaling, result: ScalingReport) -> Table:
    """The figure at each size, its growth when the size doubles, and the shares of its greatest terms."""
    order = sorted(
        range(len(figure.terms)), key=lambda i: -max((point.shares[i] for point in figure.points), default=0)
    )
    shown = order[:_MOST_TERMS] if len(figure.terms) > 1 else []
    columns = [
        Column(figure.over, "total"),
        Column(FIGURES[figure.figure].title, "total"),
        Column("doubling", "text", priority=60),
        *(Column(figure.terms[i], "share", priority=40 - place) for place, i in enumerate(shown)),
    ]
    rows = []
    for point in figure.points:
        doubling = "" if point.doubling is None else f"×{point.doubling:.3f}"
        shares = [Share(round(point.shares[i] * point.value), point.value) for i in shown]
        rows.append(Row([point.size, point.value, doubling, *shares]))
    return Table(columns, rows)
