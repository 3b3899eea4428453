"""Heat maps: cells of a matrix as shades, as a picture and in characters of a terminal.

The functions that draw charts (:mod:`~netcalc.render.plot.svg` and its siblings) draw maps by those of this module.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from netcalc.render.escapes import clean
from netcalc.render.plot.charts import HeatMap
from netcalc.render.plot.metrics import shortened
from netcalc.render.plot.scene import Box, Scene, Text
from netcalc.render.text import PLAIN, Terminal, fill, width_of

Color: TypeAlias = tuple[int, int, int]

#: Shades from 0 to the greatest value, of negative numbers on the other side, and of what is not finite.
_WHITE, _DEEP, _NEGATIVE, _NONE = (255, 255, 255), (8, 69, 148), (165, 15, 21), (200, 200, 200)
#: Most rows and columns of cells in a picture, and rows in a terminal; larger matrices are averaged.
_MOST, _ROWS = 96, 32
#: Columns of a map where the terminal does not say how many it has, and the most.
_WIDTH, _WIDEST = 76, 100
#: Steps of shades, so that equal neighbours are one rectangle.
_STEPS = 64
#: Shades of a terminal, from 0 to the greatest value and from 0 to the least, and the mark of what is not finite.
_SHADES, _BELOW, _MISSING = " ░▒▓█", " -+*#", "·"
#: Share of the greatest value below which nothing is drawn.
_FAINT = 0.004
#: Place of the cells and their size at most, place of the scale, and size of the picture.
_LEFT, _TOP, _PLOT = 72, 44, 480
_BAR, _WIDE, _HEIGHT = 580, 720, 572


def limits(chart: HeatMap) -> tuple[float, float]:
    """Return the ends of the scale: 0 and the greatest value, or with negative values the same on both sides."""
    finite = [value for row in chart.values for value in row if math.isfinite(value)]
    if not finite:
        return 0.0, 1.0
    low, high = min(finite), max(finite)
    if low >= 0:
        return 0.0, high or 1.0
    size = max(-low, high)
    return -size, size


def cells(chart: HeatMap, rows: int, columns: int) -> list[list[float]]:
    """Return the matrix with at most so many rows and columns: means over blocks of equal size."""
    count, width = len(chart.values), len(chart.values[0]) if chart.values else 0
    tall, wide = -(-count // rows), -(-width // columns)
    if tall <= 1 and wide <= 1:
        return [list(row) for row in chart.values]
    return [
        [
            _mean([value for row in chart.values[top : top + tall] for value in row[left : left + wide]])
            for left in range(0, width, wide)
        ]
        for top in range(0, count, tall)
    ]


def _mean(values: Sequence[float]) -> float:
    """Return the mean of the finite ones of some values."""
    finite = [value for value in values if math.isfinite(value)]
    return math.fsum(finite) / len(finite) if finite else math.nan


# -- terminal ---------------------------------------------------------------------------------------


def map_text(chart: HeatMap, terminal: Terminal = PLAIN) -> Iterator[str]:
    """Yield the lines of a map in characters, in the width of the terminal."""
    if chart.title:
        yield terminal.styled(fill(clean(chart.title), terminal.width), "bold")
    low, high = limits(chart)
    width = min(terminal.width or _WIDTH, _WIDEST) - 2
    margin = len(str(len(chart.values) - 1))
    drawn = cells(chart, _ROWS, width - margin)
    across = max(1, min(3, (width - margin) // max(len(drawn[0]), 1)))
    step = -(-len(chart.values) // max(len(drawn), 1))
    if chart.y:
        yield fill(clean(chart.y), terminal.width)
    for number, row in enumerate(drawn):
        line = "".join(_shade(value, low, high) * across for value in row)
        yield f"{number * step:>{margin}} │{line}│"
    yield " " * margin + " └" + "─" * (across * len(drawn[0])) + "┘"
    last, columns = str(len(chart.values[0]) - 1), across * len(drawn[0])
    yield " " * (margin + 2) + "0" + last.rjust(columns - 1 if columns > len(last) else len(last) + 1)
    if chart.x:
        yield " " * (margin + 2 + max(0, columns - width_of(chart.x))) + clean(chart.x)
    yield fill(_scale(low, high), terminal.width)


def _shade(value: float, low: float, high: float) -> str:
    if not math.isfinite(value):
        return _MISSING
    share = value / (high if value >= 0 else low)
    most = len(_SHADES) - 1
    level = 0 if share < _FAINT else min(1 + int(share * most), most)
    return (_SHADES if value >= 0 else _BELOW)[level]


def _scale(low: float, high: float) -> str:
    """Return the shades with the values up to which they are drawn."""
    step = high / (len(_SHADES) - 1)
    parts = [f"{shade} to {number * step:.3g}" for number, shade in enumerate(_SHADES) if number]
    below = [f"{shade} to {-number * step:.3g}" for number, shade in enumerate(_BELOW) if number] if low < 0 else []
    return ", ".join(parts) + (f"; {', '.join(below)}" if below else "")


# -- pictures ---------------------------------------------------------------------------------------


def map_scene(chart: HeatMap) -> Scene:
    """Return the picture of a map: cells, axes and scale."""
    low, high = limits(chart)
    x, y, right, bottom = _frame(chart)
    items: list[Text | Box] = [Text(14, 25, shortened(clean(chart.title), _WIDE - 28, 14, bold=True), 14, role="head")]
    for left, top, end, below, color in _rectangles(chart, low, high):
        items.append(Box(left, top, end - left, below - top, _hex(color)))
    items.append(Box(x, y, right - x, bottom - y, None))
    items += [Text(place, bottom + 16, label, 12, "middle", role="quiet") for place, label in _marks(chart, rows=False)]
    items += [Text(x - 6, place + 4, label, 12, "end", role="quiet") for place, label in _marks(chart, rows=True)]
    items.append(Text((x + right) / 2, bottom + 34, clean(chart.x), 12, "middle", role="quiet"))
    items.append(Text(26, (y + bottom) / 2, clean(chart.y), 12, "middle", -90, "quiet"))
    for top, height, color, label in _bar(low, high):
        items.append(Box(_BAR, top, 18, height, _hex(color)))
        if label:
            items.append(Text(_BAR + 24, top + height / 2 + 4, label, 12, role="quiet"))
    return Scene(clean(chart.title), _WIDE, _HEIGHT, items)


def _frame(chart: HeatMap) -> tuple[float, float, float, float]:
    """Return the edges of the cells, which are squares unless a matrix is very long."""
    rows, columns = len(chart.values), len(chart.values[0])
    size = _PLOT / max(rows, columns)
    wide, tall = max(size * columns, _PLOT / 8), max(size * rows, _PLOT / 8)
    return _LEFT, _TOP, _LEFT + wide, _TOP + tall


def _rectangles(chart: HeatMap, low: float, high: float) -> Iterator[tuple[float, float, float, float, Color]]:
    """Yield rectangles of one color: left, top, right, bottom, color."""
    drawn = cells(chart, _MOST, _MOST)
    x, y, right, bottom = _frame(chart)
    wide, tall = (right - x) / len(drawn[0]), (bottom - y) / len(drawn)
    for number, row in enumerate(drawn):
        colors = [_color(value, low, high) for value in row]
        start = 0
        for column in range(1, len(colors) + 1):
            if column == len(colors) or colors[column] != colors[start]:
                top = y + number * tall
                yield x + start * wide, top, x + column * wide, top + tall, colors[start]
                start = column


def _marks(chart: HeatMap, *, rows: bool) -> Iterator[tuple[float, str]]:
    """Yield places and numbers of some rows or columns, the first among them."""
    count = len(chart.values) if rows else len(chart.values[0])
    left, top, right, bottom = _frame(chart)
    first, last = (top, bottom) if rows else (left, right)
    most = max(1, int((last - first) / 40))
    step = next(s * 10**p for p in range(9) for s in (1, 2, 5) if -(-count // (s * 10**p)) <= most)
    for index in range(0, count, step):
        yield first + (index + 0.5) * (last - first) / count, str(index)


def _bar(low: float, high: float) -> Iterator[tuple[float, float, Color, str]]:
    """Yield the steps of the scale from above: top, height, color, and the numbers of the ends and the middle."""
    steps, height = 33, 320.0
    for number in range(steps):
        value = high + (low - high) * number / (steps - 1)
        label = f"{value:.3g}" if number in (0, steps // 2, steps - 1) else ""
        yield _TOP + number * height / steps, height / steps, _color(value, low, high), label


def _color(value: float, low: float, high: float) -> Color:
    if not math.isfinite(value):
        return _NONE
    share = round(min(value / (high if value >= 0 else low), 1.0) * _STEPS) / _STEPS
    end = _DEEP if value >= 0 else _NEGATIVE
    mixed = [round(a + (b - a) * share) for a, b in zip(_WHITE, end, strict=True)]
    return mixed[0], mixed[1], mixed[2]


def _hex(color: Color) -> str:
    return "#{:02x}{:02x}{:02x}".format(*color)
