"""Line charts in characters: Braille dots for one series, a mark for each of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from netcalc.render.escapes import clean
from netcalc.render.plot import Axis, Chart, Drawing, HeatMap, Point, axes, pieces
from netcalc.render.plot_map import map_text
from netcalc.render.text import PLAIN, Terminal, fill, padded, width_of

#: Marks of series, and the styles of their colors.
_MARKS = "●○▲△■□◆◇"
_STYLES = ("series 1", "series 2", "series 3", "series 4", "series 5", "series 6")
#: Columns of a chart where the terminal does not say how many it has, the most, and the fewest of its canvas.
_WIDTH, _MOST, _LEAST = 76, 100, 12
#: Bits of the dots of a Braille character, by row and column.
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BLANK = 0x2800


def chart_text(chart: Drawing, terminal: Terminal = PLAIN, *, height: int = 12) -> Iterator[str]:
    """Yield the lines of a chart with ``height`` rows, in the colors and the width of the terminal."""
    if isinstance(chart, HeatMap):
        yield from map_text(chart, terminal)
        return
    if chart.title:
        yield terminal.styled(fill(clean(chart.title), terminal.width), "bold")
    width = min(terminal.width or _WIDTH, _MOST)
    pair = axes(chart, 1 + width // 16, max(2, height // 3))
    if pair is None:
        yield "no finite values"
        return
    horizontal, vertical = pair
    labels = {round((1 - vertical.share(place)) * (height - 1)): label for place, label in vertical.marks}
    margin = max(map(len, labels.values()), default=0)
    columns = max(_LEAST, width - margin - 2)
    draw = _braille if len(chart.series) == 1 else _marks
    if chart.y:
        yield fill(clean(chart.y), terminal.width)
    for row, line in enumerate(draw(chart, horizontal, vertical, columns, height, terminal)):
        label = labels.get(row)
        yield f"{padded(label or '', margin, right=True)} {'┤' if label is not None else '│'}{line}".rstrip()
    yield from _horizontal(horizontal, clean(chart.x), columns, margin + 1)
    if len(chart.series) > 1:
        yield from _legend(chart, width, margin + 2, terminal)


def _braille(
    chart: Chart, horizontal: Axis, vertical: Axis, columns: int, height: int, terminal: Terminal
) -> list[str]:
    """Return the rows of a canvas with one series."""
    cells = [[_BLANK] * columns for _ in range(height)]

    def dot(x: float, y: float) -> None:
        column, row = round(x * (columns * 2 - 1)), round((1 - y) * (height * 4 - 1))
        cells[row // 4][column // 2] |= _DOTS[row % 4][column % 2]

    for piece in pieces(chart, chart.series[0]):
        places = _places(piece, horizontal, vertical)
        dot(*places[0])
        for (x, y), (to_x, to_y) in pairwise(places):
            steps = 1 + int(max(abs(to_x - x) * columns * 2, abs(to_y - y) * height * 4))
            for step in range(1, steps + 1):
                dot(x + (to_x - x) * step / steps, y + (to_y - y) * step / steps)
    lines = ["".join(" " if cell == _BLANK else chr(cell) for cell in row).rstrip() for row in cells]
    return [terminal.styled(line, _STYLES[0]) for line in lines]


def _marks(chart: Chart, horizontal: Axis, vertical: Axis, columns: int, height: int, terminal: Terminal) -> list[str]:
    """Return the rows of a canvas with several series; those at the same place take turns by column."""
    cells: list[list[int | None]] = [[None] * columns for _ in range(height)]
    turns: dict[tuple[int, int], list[int]] = {}
    for number, series in enumerate(chart.series):
        for piece in pieces(chart, series):
            for column, y in _by_column(_places(piece, horizontal, vertical), columns):
                turns.setdefault((round((1 - y) * (height - 1)), column), []).append(number)
    for (row, column), numbers in turns.items():
        cells[row][column] = numbers[column % len(numbers)]
    return ["".join(" " if cell is None else _colored(cell, terminal) for cell in row) for row in cells]


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


def _places(piece: Sequence[Point], horizontal: Axis, vertical: Axis) -> list[Point]:
    return [(horizontal.at(x), vertical.at(y)) for x, y in piece]


def _horizontal(axis: Axis, name: str, columns: int, margin: int) -> Iterator[str]:
    """Yield the line of the horizontal axis, its labels, and its name at the right."""
    line, labels, end = ["─"] * columns, "", 0
    for place, label in axis.marks:
        column = round(axis.share(place) * (columns - 1))
        start = min(max(column - width_of(label) // 2, 0), columns - width_of(label))
        if start < end:
            continue
        line[column] = "┬"
        labels += " " * (start - len(labels)) + label
        end = start + len(label) + 1
    yield " " * margin + "└" + "".join(line)
    yield " " * (margin + 1) + labels
    if name:
        yield " " * (margin + 1 + max(0, columns - width_of(name))) + name


def _legend(chart: Chart, width: int, margin: int, terminal: Terminal) -> Iterator[str]:
    """Yield lines with the mark and the name of each series, as many in a line as fit."""
    line, used = "", margin
    for number, series in enumerate(chart.series):
        name = clean(series.name)
        if line and used + 2 + width_of(name) > width:
            yield line.rstrip()
            line, used = "", margin
        line = (line or " " * margin) + f"{_colored(number, terminal)} {name}   "
        used += width_of(name) + 5
    yield line.rstrip()


def _mark(number: int) -> str:
    return _MARKS[number] if number < len(_MARKS) else chr(ord("a") + (number - len(_MARKS)) % 26)


def _colored(number: int, terminal: Terminal) -> str:
    return terminal.styled(_mark(number), _STYLES[number % len(_STYLES)])
