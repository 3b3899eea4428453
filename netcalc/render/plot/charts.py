"""Declarations of drawings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple, TypeAlias

Point: TypeAlias = tuple[float, float]

#: Unit of numbers of things, such as parameters, which are written with k, M, B and T and no further unit.
COUNT = "1"


class Series(NamedTuple):
    """Line through points (x, y), in order, area below one, or points alone.

    Attributes:
        name: the name in the legend.
        points: the points; one that is not finite, or not positive on a logarithmic axis, leaves a gap.
        dashed: True for a prediction beside a measurement.
        kind: ``"line"``, ``"area"`` or ``"scatter"``.
        labels: names of the points, which an SVG shows below the pointer; none, or one for each.
    """

    name: str
    points: Sequence[Point]
    dashed: bool = False
    kind: Literal["line", "area", "scatter"] = "line"
    labels: Sequence[str] = ()


class Mark(NamedTuple):
    """A point that is marked, and the words beside it."""

    x: float
    y: float
    text: str


class Chart(NamedTuple):
    """Chart with two axes.

    Attributes:
        title: the title.
        x, y: names of the axes.
        series: what is drawn, the last on top; areas stand on those before them.  They have the same x.
        log_x, log_y: True for a logarithmic axis.
        x_unit, y_unit: unit of the numbers, such as ``"FLOP/s"``, whose prefix is chosen: k, M, G, T, or Ki, Mi, Gi of
            ``"B"``.  :data:`COUNT` for prefixes alone, and an empty text for numbers as they are.
        names: names of places on the horizontal axis in place of numbers, from left to right.
        marks: marked points, the most important first.
    """

    title: str
    x: str
    y: str
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False
    x_unit: str = ""
    y_unit: str = ""
    names: Sequence[tuple[float, str]] = ()
    marks: Sequence[Mark] = ()


class Values(NamedTuple):
    """Numbers that are not negative, one for each row of bars.

    Attributes:
        name: the name in the legend.
        numbers: a number for each row.
        labels: words behind the bars: none, or one for each row.  Of stacked bars those of the last are shown.
    """

    name: str
    numbers: Sequence[float]
    labels: Sequence[str] = ()


class Bars(NamedTuple):
    """Horizontal bars, a row of them for each name.

    Attributes:
        title: the title.
        x: name of the horizontal axis.
        names: names of the rows, from above.
        series: the numbers of the rows; the bars of several are below one another.
        x_unit: unit, as of :class:`Chart`.
        stacked: True if the bars of a row stand behind one another.
    """

    title: str
    x: str
    names: Sequence[str]
    series: Sequence[Values]
    x_unit: str = ""
    stacked: bool = False


class HeatMap(NamedTuple):
    """Matrix whose elements are shades: title, names of the axes, and its rows from above."""

    title: str
    x: str
    y: str
    values: Sequence[Sequence[float]]


#: What a page or a picture may hold.
Drawing: TypeAlias = Chart | Bars | HeatMap


def pieces(chart: Chart, series: Series) -> Iterator[Sequence[Point]]:
    """Yield the parts of a line between gaps; every point of ``"scatter"`` is one."""
    piece: list[Point] = []
    for x, y in series.points:
        if _drawable(x, chart.log_x) and _drawable(y, chart.log_y):
            piece.append((x, y))
            if series.kind != "scatter":
                continue
        if piece:
            yield piece
            piece = []
    if piece:
        yield piece


def _drawable(value: float, log: bool) -> bool:
    return math.isfinite(value) and (value > 0 or not log)


def stacked(chart: Chart) -> Chart:
    """Return a chart whose areas are where they are drawn: each on the sum of those before it."""
    areas = [series for series in chart.series if series.kind == "area"]
    if len(areas) < 2:
        return chart
    below = accumulate(
        ([y for _, y in area.points] for area in areas), lambda a, b: [p + q for p, q in zip(a, b, strict=True)]
    )
    tops = iter([[*zip((x for x, _ in area.points), ys, strict=True)] for area, ys in zip(areas, below, strict=True)])
    return chart._replace(series=[s._replace(points=next(tops)) if s.kind == "area" else s for s in chart.series])
