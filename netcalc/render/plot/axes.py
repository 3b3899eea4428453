"""Axes of charts: ranges, prefixes of units, and marks with their labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from netcalc.render.plot.charts import COUNT, Bars, Chart, pieces, stacked

#: Greatest magnitude of a number that is drawn, so that differences stay finite.
_MOST = 1e300
#: Difference of two numbers, as a share of the larger, below which they are drawn as one.
_CLOSE = 1e-7
#: Steps between marks of an axis, in powers of ten.
_STEPS = (1, 2, 5, 10)
#: Prefixes by the power of a thousand, where billions of things are B, or of 1024 for bytes.
_PREFIXES = {-3: "n", -2: "µ", -1: "m", 0: "", 1: "k", 2: "M", 3: "G", 4: "T", 5: "P", 6: "E"}
_COUNTS = {**_PREFIXES, 3: "B"}
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
#: Share of an axis above which a marked point has no room for its words.
_ROOM = 0.88


class Axis(NamedTuple):
    """Range of an axis, on its own scale, and its marks with their labels.

    ``factor`` is the size of the unit with its prefix: values are divided by it.
    """

    low: float
    high: float
    marks: Sequence[tuple[float, str]]
    log: bool
    title: str = ""
    factor: float = 1.0

    def share(self, place: float) -> float:
        """Return a place on the scale of the axis as a share, from 0 at the low end to 1 at the high end."""
        return (place - self.low) / (self.high - self.low)

    def at(self, value: float) -> float:
        """Return the share of a value."""
        return self.share(_scaled(value / self.factor, self.log))


def axes(chart: Chart, x_marks: int, y_marks: int, *, room: bool = False) -> tuple[Axis, Axis] | None:
    """Return both axes with about so many marks, or None if no point can be drawn.

    With ``room`` there is some for the words above marked points.
    """
    drawn = stacked(chart)
    points = [point for series in drawn.series for piece in pieces(drawn, series) for point in piece]
    if not points:
        return None
    across, up = [x for x, _ in points], [y for _, y in points]
    if any(series.kind == "area" for series in chart.series) and not chart.log_y:
        up.append(0.0)
    horizontal = _axis(across, chart.log_x, x_marks, chart.x, chart.x_unit, rounded=False)
    vertical = _axis(up, chart.log_y, y_marks, chart.y, chart.y_unit, rounded=True)
    if room and any(vertical.at(mark.y) > _ROOM for mark in chart.marks):
        top = vertical.high + (vertical.high - vertical.low) * 0.15
        up.append(10.0 ** min(top, 300) if chart.log_y else top * vertical.factor)
        vertical = _axis(up, chart.log_y, y_marks, chart.y, chart.y_unit, rounded=True)
    return horizontal, vertical


def bar_axis(bars: Bars, marks: int) -> Axis:
    """Return the axis of bars, which begins at 0."""
    rows = zip(*(values.numbers for values in bars.series), strict=True)
    ends = [sum(row) if bars.stacked else max(row) for row in rows]
    finite = [end for end in ends if math.isfinite(end) and end > 0]
    return _axis([0.0, *(finite or [1.0])], False, marks, bars.x, bars.x_unit, rounded=False)


def _scaled(value: float, log: bool) -> float:
    return math.log10(value) if log else max(-_MOST, min(_MOST, value))


def _axis(values: Iterable[float], log: bool, marks: int, name: str, unit: str, *, rounded: bool) -> Axis:
    """Return an axis for values; a ``rounded`` one begins and ends at marks."""
    numbers = list(values)
    prefix, factor = ("", 1.0) if log or not unit else _prefix(max(map(abs, numbers)), unit)
    shown = prefix if unit == COUNT else f"{prefix}{unit}"
    title = name if not shown else shown if not name else f"{name} ({shown})"
    axis = _of_numbers([number / factor for number in numbers], log, marks, rounded=rounded)
    if log and unit:
        axis = axis._replace(marks=[(place, _with_prefix(10.0**place, unit)) for place, _ in axis.marks])
    return axis._replace(title=title, factor=factor)


def _prefix(size: float, unit: str) -> tuple[str, float]:
    """Return the prefix for numbers up to ``size``, and its value."""
    if size <= 0 or not math.isfinite(size):
        return "", 1.0
    if unit == "B":
        power = max(0, min(len(_BINARY) - 1, math.floor(math.log2(size) / 10 + 1e-9)))
        return _BINARY[power], 1024.0**power
    power = math.floor(math.log10(size) / 3 + 1e-9)
    power = max(-3 if unit == "s" else 0, min(6, power))
    return (_COUNTS if unit == COUNT else _PREFIXES)[power], 1000.0**power


def _with_prefix(value: float, unit: str) -> str:
    """Return a mark of a logarithmic axis: ``10``, ``100 k``, ``1 T``."""
    prefix, factor = _prefix(value, "" if unit == "B" else unit)
    number = _short(float(f"{value / factor:.3g}"))
    return f"{number} {prefix}{'s' if unit == 's' else ''}".rstrip()


def _of_numbers(numbers: Sequence[float], log: bool, marks: int, *, rounded: bool) -> Axis:
    low, high = _scaled(min(numbers), log), _scaled(max(numbers), log)
    integral = not log and all(float(value).is_integer() for value in numbers)
    size = max(abs(low), abs(high))
    if high - low <= max(_CLOSE * size, 1 / _MOST):  # too close to be told apart
        margin = 0.5 if log or size < 1 / _MOST else size * 0.05
        margin = 1.0 if integral and not rounded and size <= 1 / _CLOSE else margin
        low, high = low - margin, high + margin
    if log and high - low < 1:
        return _within_decades(low, high, rounded)
    least = (high - low) / max(marks, 1)
    step = max(1.0, math.ceil(least)) if log else _step(least)
    step = max(step, 1.0) if integral and not rounded else step
    if rounded:
        ends = 1.0 if log else step  # a logarithmic axis ends at powers of ten, also at those without a mark
        low, high = math.floor(low / ends + 1e-9) * ends, math.ceil(high / ends - 1e-9) * ends
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    places = [number * step for number in range(first, last + 1)]
    if log and not rounded and len(places) < 3:
        return _within_decades(low, high, rounded)
    return Axis(low, high, [(place, _power(place) if log else _label(place, step)) for place in places], log)


def _within_decades(low: float, high: float, rounded: bool) -> Axis:
    """Return a logarithmic axis of few decades, with marks at 1, 2 and 5 times powers of ten."""
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
