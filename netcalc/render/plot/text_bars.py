"""Bars in characters."""

from __future__ import annotations

from collections.abc import Iterator

from netcalc.render.escapes import clean
from netcalc.render.plot.axes import bar_axis
from netcalc.render.plot.charts import Bars
from netcalc.render.plot.text_legend import BAR_SHADES, cut, legend, style_of
from netcalc.render.text import Terminal, padded, width_of

#: Most columns of the names of bars, as a share of the width, and the fewest of the bars.
_NAMES, _LEAST = 0.45, 8
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bars_text(bars: Bars, terminal: Terminal, width: int) -> Iterator[str]:
    """Yield a line for each bar, with its name before it and its label behind it, and the legend."""
    words = [[cut(clean(label), width // 2) for label in values.labels] for values in bars.series]
    behind = 1 + max((width_of(label) for labels in words for label in labels), default=0)
    names = [cut(clean(name), max(3, min(int(width * _NAMES), width - behind - 2 - _LEAST))) for name in bars.names]
    left = max(map(width_of, names), default=0)
    columns = max(_LEAST, width - left - 2 - behind)
    axis = bar_axis(bars, 4)
    for number, name in enumerate(names):
        line, used, text = "", 0, padded(name, left) + " │"
        for place, values in enumerate(bars.series):
            label = words[place][number] if values.labels else ""
            share = axis.at(values.numbers[number])
            if not bars.stacked:
                bar = _bar(share * columns, place)
                yield f"{text}{terminal.styled(bar, style_of(place))} {label}".rstrip()
                text = " " * left + " │"
                continue
            end = round(axis.at(sum(v.numbers[number] for v in bars.series[: place + 1])) * columns)
            line += terminal.styled(BAR_SHADES[place % len(BAR_SHADES)] * (end - used), style_of(place))
            used = end
            if place == len(bars.series) - 1:
                yield f"{text}{line} {label}".rstrip()
    if axis.title:
        yield " " * (left + 2) + cut(clean(axis.title), max(width - left - 2, 3))
    if len(bars.series) > 1:
        yield from legend([values.name for values in bars.series], width, 0, terminal, BAR_SHADES)


def _bar(length: float, number: int) -> str:
    """Return a bar; the first of a row ends at an eighth of a column."""
    if number:
        return BAR_SHADES[number % len(BAR_SHADES)] * round(length)
    eighths = round(length * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
