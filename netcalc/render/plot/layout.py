"""Places of everything in the picture of a chart or of bars, in pixels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from netcalc.render.escapes import clean
from netcalc.render.plot.axes import Axis, axes, bar_axis
from netcalc.render.plot.charts import Bars, Chart, Mark, Point, Series, Values, pieces, stacked
from netcalc.render.plot.metrics import shortened, text_width
from netcalc.render.plot.scene import Area, Box, Dot, Line, Scene, Text, crosses, overlap

WIDTH = 720
#: Margin of a picture, height of the plane of a chart, and of a line of the legend.
MARGIN, PLANE, _LINE = 14, 300, 19
#: Sizes of fonts: of a title, of names and numbers, and of names of layers.
HEAD, SIZE, _SMALL = 14, 12, 10.5
#: Least distance of names that are turned, their angle with its sine, and their greatest width.
_APART, _ANGLE, _SINE, _LONG = 19, -45, 0.7072, 150
#: Width of the names of bars and of the words behind them at most, height of a bar, and of the space between rows.
_NAMES, _WORDS, _BAR, _SPACE = 320, 180, 15, 8


class Plane(NamedTuple):
    """Edges of the rectangle in which a chart is drawn."""

    left: float
    top: float
    right: float
    bottom: float

    def place(self, x: float, y: float) -> Point:
        """Return the place of a point whose coordinates are shares of the axes."""
        return self.left + x * (self.right - self.left), self.bottom + y * (self.top - self.bottom)

    def holds(self, text: Text) -> bool:
        """Return True if a text is inside."""
        return all(self.left < x < self.right and self.top < y < self.bottom for x, y in text.corners)


def chart_scene(chart: Chart) -> Scene:
    """Return the picture of a chart."""
    head, top = heading(chart.title, [series.name for series in chart.series], _samples(chart))
    pair = axes(chart, 8, 6, room=True)
    if pair is None:
        words = Text(WIDTH / 2, top + 40, "no finite values", anchor="middle")
        return Scene(clean(chart.title), WIDTH, top + 80, [*head, words])
    horizontal, vertical = pair
    left = MARGIN + SIZE + 10 + max((text_width(label, SIZE) for _, label in vertical.marks), default=0) + 8
    plane = Plane(left, top, WIDTH - MARGIN - 8, top + PLANE)
    below, depth = _below(chart, horizontal, plane)
    items = [*head, *_grid(vertical, plane), *below]
    drawn = stacked(chart)
    items += [item for n, series in enumerate(drawn.series) for item in _series(drawn, n, series, pair, plane)]
    items += [Line([(plane.left, plane.top), (plane.left, plane.bottom), (plane.right, plane.bottom)], "axis")]
    lines = [
        item for item in items if isinstance(item, Line) and isinstance(item.role, int) and item.points[0][1] > top
    ]
    items += _marked(chart.marks, pair, plane, lines)
    height = plane.bottom + depth + MARGIN
    if horizontal.title:
        title = shortened(clean(horizontal.title), plane.right - plane.left, SIZE)
        items.append(Text((plane.left + plane.right) / 2, height + 4, title, anchor="middle", role="quiet"))
        height += 18
    return Scene(clean(chart.title), WIDTH, height, items)


def heading(
    title: str, names: Sequence[str], samples: Sequence[Sequence[Line | Area | Dot | Box]]
) -> tuple[list[Text | Line | Area | Dot | Box], float]:
    """Return the title and the legend of several series, and the height below them.

    The samples of the series are 24 pixels wide, with their middle at (12, 0).
    """
    room = WIDTH - 2 * MARGIN
    lines = _wrapped(clean(title), room)
    items: list[Text | Line | Area | Dot | Box] = [
        Text(MARGIN, 25 + number * 18, line, HEAD, role="head") for number, line in enumerate(lines)
    ]
    below = 25 + 18 * (len(lines) - 1)
    if len(names) < 2:
        return items, below + 21
    x, y = float(MARGIN), below + 22.0
    for name, sample in zip(names, samples, strict=True):
        text = shortened(clean(name), room - 36, SIZE)
        needed = 32 + text_width(text, SIZE)
        if x > MARGIN and x + needed > WIDTH - MARGIN:
            x, y = float(MARGIN), y + _LINE
        items += [_moved(item, x, y) for item in sample]
        items.append(Text(x + 30, y + 4, text))
        x += needed + 14
    return items, y + 22


def _wrapped(title: str, room: float) -> list[str]:
    """Return a title in one line, or in two."""
    words = shortened(title, 2 * room, HEAD, bold=True).split(" ")
    if text_width(title, HEAD, bold=True) <= room:
        return [title]
    fits = [n for n in range(len(words)) if text_width(" ".join(words[:n]), HEAD, bold=True) <= room]
    split = max(fits) or len(words)
    lines = (" ".join(words[:split]), " ".join(words[split:]))
    return [shortened(line, room, HEAD, bold=True) for line in lines if line]


def _moved(item: Line | Area | Dot | Box, x: float, y: float) -> Line | Area | Dot | Box:
    if isinstance(item, (Line, Area)):
        return item._replace(points=[(a + x, b + y) for a, b in item.points])
    return item._replace(x=item.x + x, y=item.y + y)


def _samples(chart: Chart) -> list[list[Line | Area | Dot | Box]]:
    """Return the sample of each series in the legend."""
    samples: list[list[Line | Area | Dot | Box]] = []
    for number, series in enumerate(chart.series):
        match series.kind:
            case "area":
                samples.append([Area([(3, -6), (21, -6), (21, 6), (3, 6)], number)])
            case "scatter":
                samples.append([Dot(12, 0, number)])
            case _:
                samples.append([Line([(0, 0), (24, 0)], number, series.dashed)])
    return samples


def _grid(axis: Axis, plane: Plane) -> Iterator[Line | Text]:
    """Yield the lines and numbers of the vertical axis, and its title."""
    for place, label in axis.marks:
        _, y = plane.place(0, axis.share(place))
        yield Line([(plane.left, y), (plane.right, y)], "grid")
        yield Text(plane.left - 8, y + 4, label, anchor="end", role="quiet")
    if axis.title:
        title = shortened(clean(axis.title), plane.bottom - plane.top, SIZE)
        yield Text(MARGIN + SIZE - 2, (plane.top + plane.bottom) / 2, title, anchor="middle", angle=-90, role="quiet")


def _below(chart: Chart, axis: Axis, plane: Plane) -> tuple[list[Line | Text], float]:
    """Return the marks of the horizontal axis, and the height that they take."""
    if chart.names:
        return _names(chart, axis, plane)
    items: list[Line | Text] = []
    end = -1.0
    for place, label in axis.marks:
        x, _ = plane.place(axis.share(place), 0)
        items.append(Line([(x, plane.top), (x, plane.bottom)], "grid"))
        half = text_width(label, SIZE) / 2
        x = min(x, WIDTH - 4 - half)
        if x - half > end:
            items.append(Text(x, plane.bottom + 18, label, anchor="middle", role="quiet"))
            end = x + half + 6
    return items, 24


def _names(chart: Chart, axis: Axis, plane: Plane) -> tuple[list[Line | Text], float]:
    """Return names below the horizontal axis: side by side if all have room, or else turned, and as many as fit."""
    places = [(plane.place(axis.at(x), 0)[0], clean(name)) for x, name in chart.names]
    level = [Text(x, plane.bottom + 18, name, _SMALL, "middle") for x, name in places]
    gaps = [b.corners[0][0] - a.corners[1][0] for a, b in zip(level, level[1:], strict=False)]  # noqa: RUF007
    inside = level[0].corners[0][0] > 2 and level[-1].corners[1][0] < WIDTH - 2
    depth = 24.0
    if not inside or min(gaps, default=9) < 8:
        marked = {plane.place(axis.at(mark.x), 0)[0] for mark in chart.marks}
        level = [
            Text(x + 3, plane.bottom + 13, shortened(name, min(_LONG, (x - 8) / _SINE), _SMALL), _SMALL, "end", _ANGLE)
            for x, name in _spread(places, marked)
        ]
        depth = 18 + max(text.width for text in level) * _SINE
    ticks = [
        Line([(x, plane.bottom), (x, plane.bottom + 4)], "axis")
        for x in (text.x - 3 * (text.angle < 0) for text in level)
    ]
    return [*ticks, *level], depth


def _spread(places: Sequence[tuple[float, str]], marked: set[float]) -> list[tuple[float, str]]:
    """Return the marked places, and as many others at equal steps as have room for a name."""
    first: list[tuple[float, str]] = []
    for place in places:
        if place[0] in marked and all(abs(place[0] - x) >= _APART for x, _ in first):
            first.append(place)
    for step in range(1, len(places) + 1):
        others = [p for p in places[::step] if all(abs(p[0] - x) >= _APART for x, _ in first)]
        if all(b[0] - a[0] >= _APART for a, b in zip(others, others[1:], strict=False)):  # noqa: RUF007
            return sorted([*first, *others])
    return first


def _series(
    chart: Chart, number: int, series: Series, pair: tuple[Axis, Axis], plane: Plane
) -> Iterator[Line | Area | Dot]:
    """Yield a series; the area of one stands on the area before it."""
    if series.kind == "scatter":
        labels = series.labels or [""] * len(series.points)
        for (x, y), label in zip(series.points, labels, strict=True):
            if any(pieces(chart, series._replace(points=[(x, y)]))):
                yield Dot(*_placed(pair, plane, x, y), number, clean(label))
        return
    floor = next((s.points for s in reversed(chart.series[:number]) if s.kind == "area"), None)
    for piece in pieces(chart, series):
        points = [_placed(pair, plane, x, y) for x, y in piece]
        if series.kind == "area":
            base = [_placed(pair, plane, x, y) for x, y in floor] if floor else [(x, plane.bottom) for x, _ in points]
            yield Area([*points, *reversed(base)], number)
        if len(points) == 1:
            yield Dot(*points[0], number)
        else:
            yield Line(points, number, series.dashed)


def _placed(pair: tuple[Axis, Axis], plane: Plane, x: float, y: float) -> Point:
    return plane.place(pair[0].at(x), pair[1].at(y))


def _marked(marks: Sequence[Mark], pair: tuple[Axis, Axis], plane: Plane, lines: Sequence[Line]) -> list[Dot | Text]:
    """Return the marked points, each with its words where they meet no others, and no line if that can be.

    Words without room are left out.
    """
    dots = [Dot(*_placed(pair, plane, mark.x, mark.y), None, clean(mark.text)) for mark in marks]
    placed: list[Text] = []
    taken = [Text(dot.x - 5, dot.y + 4, "M", SIZE) for dot in dots]
    for dot in dots:
        others = [text for own, text in zip(dots, taken, strict=True) if own is not dot]
        free = [
            text
            for text in _around(dot, plane)
            if plane.holds(text) and not any(overlap(text, other) for other in (*placed, *others))
        ]
        clear = (text for text in free if not any(crosses(text, line.points) for line in lines))
        if free:
            placed.append(next(clear, free[0]))
    return [*dots, *placed]


def _around(dot: Dot, plane: Plane) -> Iterator[Text]:
    """Yield the words of a marked point at the places around it where they may be, the best first."""
    words = shortened(dot.title, plane.right - plane.left - 8, SIZE, bold=True)
    half = text_width(words, SIZE, bold=True) / 2
    middle = min(max(dot.x, plane.left + half + 3), plane.right - half - 3)
    for up in (-10, 20):
        yield Text(middle, dot.y + up, words, SIZE, "middle", role="mark")
        yield Text(dot.x + 7, dot.y + up, words, SIZE, "start", role="mark")
        yield Text(dot.x - 7, dot.y + up, words, SIZE, "end", role="mark")
    yield Text(dot.x + 10, dot.y + 4, words, SIZE, "start", role="mark")
    yield Text(dot.x - 10, dot.y + 4, words, SIZE, "end", role="mark")
    for away in (24, 48, 80):
        for up in (-10, 4, -26):
            yield Text(dot.x + away, dot.y + up, words, SIZE, "start", role="mark")
            yield Text(dot.x - away, dot.y + up, words, SIZE, "end", role="mark")
    for up in (-26, 36):
        yield Text(middle, dot.y + up, words, SIZE, "middle", role="mark")


def bars_scene(bars: Bars) -> Scene:
    """Return the picture of bars."""
    samples: list[list[Line | Area | Dot | Box]] = [[Box(3, -6, 18, 12, number)] for number in range(len(bars.series))]
    head, top = heading(bars.title, [values.name for values in bars.series], samples)
    names = [shortened(clean(name), _NAMES, SIZE) for name in bars.names]
    left = MARGIN + max((text_width(name, SIZE) for name in names), default=0) + 8
    ends = [_label(values, number) for values in bars.series for number in range(len(values.labels))]
    right = WIDTH - MARGIN - max((text_width(label, SIZE) for label in ends), default=4) - 8
    beside = 1 if bars.stacked else max(len(bars.series), 1)
    row = _BAR * beside + _SPACE
    plane = Plane(left, top - 4, right, top - 4 + row * len(names))
    axis = bar_axis(bars, max(2, int((right - left) / 80)))
    items: list[Text | Line | Area | Dot | Box] = [*head, *_below(Chart("", "", "", ()), axis, plane)[0]]
    for number, name in enumerate(names):
        y = plane.top + row * number + _SPACE / 2
        items.append(Text(left - 8, y + _BAR * beside / 2 + 4, name, anchor="end"))
        items += _row(bars, number, axis, plane, y)
    items.append(Line([(left, plane.top), (left, plane.bottom)], "axis"))
    height = plane.bottom + 24 + MARGIN
    title = shortened(clean(axis.title), WIDTH - 2 * MARGIN, SIZE)
    half = text_width(title, SIZE) / 2
    middle = min(max((left + right) / 2, MARGIN + half), WIDTH - MARGIN - half)
    items.append(Text(middle, height + 4, title, anchor="middle", role="quiet"))
    return Scene(clean(bars.title), WIDTH, height + 18, items)


def _label(values: Values, number: int) -> str:
    """Return the words behind a bar."""
    return shortened(clean(values.labels[number]), _WORDS, SIZE) if values.labels else ""


def _row(bars: Bars, number: int, axis: Axis, plane: Plane, y: float) -> Iterator[Box | Text]:
    """Yield the bars of a row, and the words behind them."""
    x, name = plane.left, bars.names[number]
    for place, values in enumerate(bars.series):
        width = axis.at(values.numbers[number]) * (plane.right - plane.left)
        label = _label(values, number)
        yield Box(
            x,
            y,
            width,
            _BAR - 1,
            place,
            clean(f"{name}, {values.name}: {label}" if label else f"{name}, {values.name}"),
        )
        x += width
        if label and (not bars.stacked or place == len(bars.series) - 1):
            yield Text(x + 6, y + _BAR / 2 + 4, label)
        if not bars.stacked:
            x, y = plane.left, y + _BAR
