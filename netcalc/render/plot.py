"""Line charts, with linear or logarithmic axes, and heat maps, drawn as SVG, as PNG and in characters of a terminal.

A chart is a part of a page, as a table is: ``yield Chart("loss", "step", "loss", [Series("loss", points)])`` in a page
prints it in characters, and a page in HTML holds its SVG.  Apart from pages, :func:`~netcalc.render.plot_svg.chart_svg`
returns the SVG as a document, and :func:`~netcalc.render.plot_text.chart_text` the lines of a terminal.  Points that
are not finite, and those that are not positive on a logarithmic axis, leave a gap in their line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

Point: TypeAlias = tuple[float, float]

#: Greatest magnitude of a number that is drawn, so that differences stay finite.
_MOST = 1e300
#: Difference of two numbers, as a share of the larger, below which they are drawn as one.
_CLOSE = 1e-7
#: Steps between marks of an axis, in powers of ten.
_STEPS = (1, 2, 5, 10)


class Series(NamedTuple):
    """Line through points (x, y), in order; ``dashed`` for a prediction beside a measurement."""

    name: str
    points: Sequence[Point]
    dashed: bool = False


class Chart(NamedTuple):
    """Line chart: title, names of the axes, and its series; ``log_x`` and ``log_y`` for logarithmic axes."""

    title: str
    x: str
    y: str
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False


class HeatMap(NamedTuple):
    """Matrix whose elements are shades: title, names of the axes, and its rows from above."""

    title: str
    x: str
    y: str
    values: Sequence[Sequence[float]]


#: What a page or a picture may hold.
Drawing: TypeAlias = Chart | HeatMap


class Axis(NamedTuple):
    """Range of an axis, on its own scale, and its marks with their labels."""

    low: float
    high: float
    marks: Sequence[tuple[float, str]]
    log: bool

    def share(self, place: float) -> float:
        """Return a place on the scale of the axis as a share, from 0 at the low end to 1 at the high end."""
        return (place - self.low) / (self.high - self.low)

    def at(self, value: float) -> float:
        """Return the share of a value."""
        return self.share(_scaled(value, self.log))


def axes(chart: Chart, x_marks: int, y_marks: int) -> tuple[Axis, Axis] | None:
    """Return both axes with about so many marks, or None if no point can be drawn."""
    points = [point for series in chart.series for piece in pieces(chart, series) for point in piece]
    if not points:
        return None
    horizontal = _axis((x for x, _ in points), chart.log_x, x_marks, rounded=False)
    return horizontal, _axis((y for _, y in points), chart.log_y, y_marks, rounded=True)


def pieces(chart: Chart, series: Series) -> Iterator[Sequence[Point]]:
    """Yield the parts of a line between gaps."""
    piece: list[Point] = []
    for x, y in series.points:
        if _drawable(x, chart.log_x) and _drawable(y, chart.log_y):
            piece.append((x, y))
        elif piece:
            yield piece
            piece = []
    if piece:
        yield piece


def _drawable(value: float, log: bool) -> bool:
    return math.isfinite(value) and (value > 0 or not log)


def _scaled(value: float, log: bool) -> float:
    return math.log10(value) if log else max(-_MOST, min(_MOST, value))


def _axis(values: Iterable[float], log: bool, marks: int, *, rounded: bool) -> Axis:
    """Return an axis for values; a ``rounded`` one begins and ends at marks."""
    numbers = list(values)
    low, high = _scaled(min(numbers), log), _scaled(max(numbers), log)
    integral = not log and all(float(value).is_integer() for value in numbers)
    size = max(abs(low), abs(high))
    if high - low <= max(_CLOSE * size, 1 / _MOST):  # too close to be told apart
        margin = 0.5 if log or size < 1 / _MOST else size * 0.05
        margin = 1.0 if integral and not rounded and size <= 1 / _CLOSE else margin
        low, high = low - margin, high + margin
    if log and high - low < 1:
        return _within_a_decade(low, high, rounded)
    least = (high - low) / max(marks, 1)
    step = max(1.0, math.ceil(least)) if log else _step(least)
    step = max(step, 1.0) if integral and not rounded else step
    if rounded:
        ends = 1.0 if log else step  # a logarithmic axis ends at powers of ten, also at those without a mark
        low, high = math.floor(low / ends + 1e-9) * ends, math.ceil(high / ends - 1e-9) * ends
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    places = [number * step for number in range(first, last + 1)]
    return Axis(low, high, [(place, _power(place) if log else _label(place, step)) for place in places], log)


def _within_a_decade(low: float, high: float, rounded: bool) -> Axis:
    """Return a logarithmic axis of less than a decade, with marks at 1, 2 and 5 times powers of ten."""
    powers = range(math.floor(low) - 1, math.ceil(high) + 1)
    places = [(math.log10(step) + power, f"{step}e{power}") for power in powers for step in _STEPS[:-1]]
    if rounded:
        low = max(place for place, _ in places if place <= low + 1e-9)
        high = min(place for place, _ in [*places, (powers.stop, "")] if place >= high - 1e-9)
    inside = [(place, _short(float(text))) for place, text in places if low - 1e-9 <= place <= high + 1e-9]
    return Axis(low, high, inside, log=True)


def _step(least: float) -> float:
    """Return the smallest step of 1, 2 or 5 times a power of ten that is not below ``least``."""
    power = math.floor(math.log10(least))
    return next(step * 10.0**power for step in _STEPS if step * 10.0**power >= least * (1 - 1e-9))


def _label(value: float, step: float) -> str:
    """Return a number with the decimals that tell it from its neighbours."""
    if value == 0:
        return "0"
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if abs(value) >= 1e6 or decimals > 4:
        digits = max(0, math.floor(math.log10(abs(value)) + 1e-9) - math.floor(math.log10(step) + 1e-9))
        return _short(value, min(digits, 9))
    return f"{value:.{decimals}f}"


def _power(exponent: float) -> str:
    return _short(10.0 ** round(exponent)) if abs(exponent) <= 300 else f"1e{round(exponent)}"


def _short(value: float, digits: int = 0) -> str:
    """Return a number in few characters: ``0.001``, ``2000``, ``1e-7``."""
    if 1e-4 < abs(value) < 1e6 and not digits:
        return f"{value:g}"
    mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
    return f"{mantissa}e{int(exponent)}"
