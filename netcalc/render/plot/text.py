"""Charts in characters: Braille dots for one line, a mark for each of several, shades for areas and bars."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from netcalc.render.escapes import clean
from netcalc.render.plot.axes import Axis, axes
from netcalc.render.plot.charts import Bars, Chart, Drawing, HeatMap, Point, pieces, stacked
from netcalc.render.plot.heat_map import map_text
from netcalc.render.plot.text_bars import bars_text
from netcalc.render.plot.text_legend import SHADES, area_legend, colored, cut, legend, style_of
from netcalc.render.text import PLAIN, Terminal, fill, padded, width_of

#: Mark of marked points.
_MARKED = "✕"
#: Columns of a chart where the terminal does not say how many it has, the most, and the fewest of its canvas.
_WIDTH, _MOST, _LEAST = 76, 100, 12
#: Bits of the dots of a Braille character, by row and column.
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BLANK = 0x2800
#: Parts of a cell, by eighths, at the upper end of the highest area.
_EIGHTHS = " ▁▂▃▄▅▆▇█"

#: Characters of a canvas with their styles; None for an empty one.
_Cells = list[list[tuple[str, str] | None]]


def chart_text(chart: Drawing, terminal: Terminal = PLAIN, *, height: int = 12) -> Iterator[str]:
    """Yield the lines of a drawing, of a chart with ``height`` rows, in the colors and the width of the terminal."""
    if isinstance(chart, HeatMap):
        yield from map_text(chart, terminal)
        return
    if chart.title:
        for line in fill(clean(chart.title), terminal.width).split("\n"):
            yield terminal.styled(line, "bold")
    width = min(terminal.width or _WIDTH, _MOST)
    if isinstance(chart, Bars):
        yield from bars_text(chart, terminal, width)
        return
    pair = axes(chart, 1 + width // 16, max(2, height // 3))
    if pair is None:
        yield "no finite values"
        return
    yield from _plane(chart, pair, width, height, terminal)
    areas = [series.name for series in chart.series if series.kind == "area"]
    if len(chart.series) > 1:
        margin = 2 + _margin(pair[1])
        if areas:
            yield from area_legend(chart.series, width, margin, terminal)
        else:
            yield from legend([series.name for series in chart.series], width, margin, terminal)
    for mark in chart.marks:
        indent = " " * (2 + _margin(pair[1]))
        yield from fill(f"{_MARKED} {clean(mark.text)}", width, indent, f"{indent}  ").split("\n")


def _margin(vertical: Axis) -> int:
    return max((width_of(label) for _, label in vertical.marks), default=0)


def _plane(chart: Chart, pair: tuple[Axis, Axis], width: int, height: int, terminal: Terminal) -> Iterator[str]:
    """Yield the rows of the canvas with both axes."""
    horizontal, vertical = pair
    labels = {round((1 - vertical.share(place)) * (height - 1)): label for place, label in vertical.marks}
    margin = _margin(vertical)
    columns = max(_LEAST, width - margin - 2)
    cells: _Cells = [[None] * columns for _ in range(height)]
    lines = [series for series in chart.series if series.kind != "area"]
    _areas(chart, pair, cells)
    if len(chart.series) == 1 and len(lines) == 1 and lines[0].kind == "line":
        _braille(chart, pair, cells)
    else:
        _marks(chart, pair, cells)
    for mark in chart.marks:
        row = min(max(round((1 - vertical.at(mark.y)) * (height - 1)), 0), height - 1)
        cells[row][round(horizontal.at(mark.x) * (columns - 1))] = (_MARKED, "bold")
    if vertical.title:
        yield from fill(clean(vertical.title), terminal.width).split("\n")
    for row, line in enumerate(cells):
        label = labels.get(row)
        edge = "┤" if label is not None else "│"
        yield f"{padded(label or '', margin, right=True)} {edge}{_written(line, terminal)}".rstrip()
    yield from _below(chart, horizontal, columns, margin + 1)


def _written(line: Sequence[tuple[str, str] | None], terminal: Terminal) -> str:
    """Return a row of a canvas; characters of one style in a row share its codes."""
    parts: list[tuple[str, str]] = []
    for cell in line:
        character, style = cell or (" ", "")
        if parts and parts[-1][1] == style:
            parts[-1] = (parts[-1][0] + character, style)
        else:
            parts.append((character, style))
    while parts and not parts[-1][1]:
        parts.pop()
    return "".join(terminal.styled(text, style) if style else text for text, style in parts)


def _braille(chart: Chart, pair: tuple[Axis, Axis], cells: _Cells) -> None:
    """Draw one line in the dots of characters."""
    height, columns = len(cells), len(cells[0])
    dots: dict[tuple[int, int], int] = {}

    def dot(x: float, y: float) -> None:
        column, row = round(x * (columns * 2 - 1)), round((1 - y) * (height * 4 - 1))
        place = (row // 4, column // 2)
        dots[place] = dots.get(place, _BLANK) | _DOTS[row % 4][column % 2]

    for piece in pieces(chart, chart.series[0]):
        places = _places(piece, pair)
        dot(*places[0])
        for (x, y), (to_x, to_y) in pairwise(places):
            steps = 1 + int(max(abs(to_x - x) * columns * 2, abs(to_y - y) * height * 4))
            for step in range(1, steps + 1):
                dot(x + (to_x - x) * step / steps, y + (to_y - y) * step / steps)
    for (row, column), bits in dots.items():
        cells[row][column] = (chr(bits), style_of(0))


def _areas(chart: Chart, pair: tuple[Axis, Axis], cells: _Cells) -> None:
    """Fill areas with shades, the highest with solid cells to an eighth of a row."""
    height, columns = len(cells), len(cells[0])
    drawn = stacked(chart)
    tops = {
        number: dict(_by_column([place for piece in pieces(drawn, s) for place in _places(piece, pair)], columns))
        for number, s in enumerate(drawn.series)
        if s.kind == "area"
    }
    for column in range(columns):
        low = 0
        for number, heights in tops.items():
            eighths = round(max(heights.get(column, 0.0), 0.0) * height * 8)
            last = number == max(tops)
            high = eighths if last else round(eighths / 8) * 8
            for row in range(low // 8, math.ceil(high / 8)):
                part = _EIGHTHS[min(8, high - row * 8)] if last else SHADES[number % len(SHADES)]
                cells[height - 1 - row][column] = (part, style_of(number))
            low = max(low, high)


def _marks(chart: Chart, pair: tuple[Axis, Axis], cells: _Cells) -> None:
    """Draw several series with a mark each; those at the same place take turns by column."""
    height, columns = len(cells), len(cells[0])
    turns: dict[tuple[int, int], list[int]] = {}
    for number, series in enumerate(chart.series):
        if series.kind == "area":
            continue
        for piece in pieces(chart, series):
            for column, y in _by_column(_places(piece, pair), columns):
                turns.setdefault((round((1 - y) * (height - 1)), column), []).append(number)
    for (row, column), numbers in turns.items():
        number = numbers[column % len(numbers)]
        cells[row][column] = (colored(number, PLAIN), style_of(number))


def _by_column(places: Sequence[Point], columns: int) -> Iterator[tuple[int, float]]:
    """Yield each column that a line crosses with its height there, and the columns of its points."""
    last = columns - 1
    for x, y in places:
        yield round(x * last), y
    for (x, y), (to_x, to_y) in pairwise(places):
        if x < to_x:
            for column in range(round(x * last) + 1, round(to_x * last)):
                share = (column / last - x) / (to_x - x)
                yield column, y + (to_y - y) * share


def _places(piece: Sequence[Point], pair: tuple[Axis, Axis]) -> list[Point]:
    return [(pair[0].at(x), pair[1].at(y)) for x, y in piece]


def _below(chart: Chart, axis: Axis, columns: int, margin: int) -> Iterator[str]:
    """Yield the line of the horizontal axis, its labels, and its name at the right."""
    labels = [(axis.share(place), label) for place, label in axis.marks]
    if chart.names:
        labels = [(axis.at(x), cut(clean(name), columns)) for x, name in chart.names]
    marked = {axis.at(mark.x) for mark in chart.marks} if chart.names else set()
    placed: list[tuple[int, int, str]] = []
    for place, label in sorted(labels, key=lambda pair: (pair[0] not in marked, pair[0])):
        column = round(place * (columns - 1))
        start = min(max(column - width_of(label) // 2, 0), max(columns - width_of(label), 0))
        if all(start > end or start + width_of(label) + 1 <= first for first, end, _ in placed):
            placed.append((start, start + width_of(label), label))
    line, text = ["─"] * columns, ""
    shown = {label for _, _, label in placed}
    for place, label in labels:
        if label in shown:
            line[round(place * (columns - 1))] = "┬"
    for start, _, label in sorted(placed):
        text += " " * (start - width_of(text)) + label
    yield " " * margin + "└" + "".join(line)
    yield " " * (margin + 1) + text
    if axis.title:
        title = cut(clean(axis.title), columns)
        yield " " * (margin + 1 + columns - width_of(title)) + title
