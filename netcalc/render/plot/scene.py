"""Parts of a picture, in pixels: texts, lines, areas, dots and boxes, with their places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from netcalc.render.plot.charts import Point
from netcalc.render.plot.metrics import text_width

Anchor: TypeAlias = Literal["start", "middle", "end"]

#: Height of a line of text above and below its baseline, as a share of the size of the font.
ABOVE, BELOW = 0.78, 0.24


class Text(NamedTuple):
    """A line of text: the place of its baseline, turned by ``angle`` degrees around it."""

    x: float
    y: float
    text: str
    size: float = 12
    anchor: Anchor = "start"
    angle: float = 0
    role: Literal["", "quiet", "head", "mark"] = ""

    @property
    def width(self) -> float:
        """Width at least that in every usual font."""
        return text_width(self.text, self.size, bold=self.role in ("head", "mark"))

    @property
    def corners(self) -> Sequence[Point]:
        """The corners of the rectangle around the text, in order."""
        left = {"start": 0.0, "middle": -self.width / 2, "end": -self.width}[self.anchor]
        cosine, sine = math.cos(math.radians(self.angle)), math.sin(math.radians(self.angle))
        box = [(x, y) for x, y in ((0, -ABOVE), (1, -ABOVE), (1, BELOW), (0, BELOW))]
        flat = [(left + x * self.width, y * self.size) for x, y in box]
        return [(self.x + x * cosine - y * sine, self.y + x * sine + y * cosine) for x, y in flat]


class Line(NamedTuple):
    """A line through points: a part of the grid, an axis, or a series of this number."""

    points: Sequence[Point]
    role: Literal["grid", "axis"] | int
    dashed: bool = False


class Area(NamedTuple):
    """A polygon in the color of a series."""

    points: Sequence[Point]
    series: int


class Dot(NamedTuple):
    """A point of a series, in the shape that belongs to its number, or a marked point; ``title`` is shown below the
    pointer."""

    x: float
    y: float
    series: int | None
    title: str = ""


class Box(NamedTuple):
    """A rectangle: in the color of a series, a color of its own, or a frame."""

    x: float
    y: float
    width: float
    height: float
    fill: int | str | None
    title: str = ""


class Scene(NamedTuple):
    """A picture of a drawing."""

    title: str
    width: float
    height: float
    items: Sequence[Text | Line | Area | Dot | Box]


def overlap(first: Text, second: Text) -> bool:
    """Return True if the rectangles around two texts have a point in common: no line separates them."""
    for corners in (first.corners, second.corners):
        for (x, y), (to_x, to_y) in zip(corners, [*corners[1:], corners[0]], strict=True):
            normal = (to_y - y, x - to_x)
            spans = [[normal[0] * a + normal[1] * b for a, b in text.corners] for text in (first, second)]
            if max(spans[0]) <= min(spans[1]) or max(spans[1]) <= min(spans[0]):
                return False
    return True


def crosses(text: Text, points: Sequence[Point]) -> bool:
    """Return True if a line through points enters the rectangle around a text that is not turned."""
    (left, top), _, (right, bottom), _ = text.corners
    for (x, y), (to_x, to_y) in pairwise(points):
        first, last = 0.0, 1.0  # the part of the segment that is inside so far
        for start, change, low, high in ((x, to_x - x, left, right), (y, to_y - y, top, bottom)):
            if change == 0:
                first, last = (first, last) if low < start < high else (1.0, 0.0)
                continue
            ends = sorted(((low - start) / change, (high - start) / change))
            first, last = max(first, ends[0]), min(last, ends[1])
        if first < last:
            return True
    return False
