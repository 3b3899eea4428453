"""Marks, shades and legends of series in characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netcalc.render.escapes import clean
from netcalc.render.plot.charts import Series
from netcalc.render.text import PLAIN, Terminal, width_of

#: Marks of series, and shades of areas and bars.
_MARKS = "●○▲△■□◆◇"
SHADES = "░▒▓█"
#: Shades of the bars of a row, from the left.
BAR_SHADES = "█▓▒░#=+-"
#: Number of styles of series.
_STYLES = 6


def style_of(number: int) -> str:
    """Return the style of a series."""
    return f"series {number % _STYLES + 1}"


def mark_of(number: int) -> str:
    """Return the mark of the points of a series."""
    return _MARKS[number] if number < len(_MARKS) else chr(ord("a") + (number - len(_MARKS)) % 26)


def colored(number: int, terminal: Terminal) -> str:
    """Return the mark of a series in its color."""
    return terminal.styled(mark_of(number), style_of(number))


def cut(name: str, most: int) -> str:
    """Return a name with at most so many columns: its beginning and its end."""
    shown, length = name, len(name)
    while width_of(shown) > most and length > 2:
        length = min(length - 1, most)
        shown = f"{name[: length // 2]}…{name[len(name) - (length - length // 2) :]}"
    return shown


def legend(names: Sequence[str], width: int, margin: int, terminal: Terminal, marks: str = "") -> Iterator[str]:
    """Yield lines with the mark and the name of each series, as many in a line as fit."""
    line, used = "", margin
    for number, text in enumerate(names):
        name = cut(clean(text), max(width - margin - 2, 3))
        if line and used + 2 + width_of(name) > width:
            yield line.rstrip()
            line, used = "", margin
        mark = marks[number % len(marks)] if marks else mark_of(number)
        line = (line or " " * margin) + f"{terminal.styled(mark, style_of(number))} {name}   "
        used += width_of(name) + 5
    yield line.rstrip()


def area_legend(series: Sequence[Series], width: int, margin: int, terminal: Terminal = PLAIN) -> Iterator[str]:
    """Yield the legend of a chart with areas."""
    last = max(number for number, each in enumerate(series) if each.kind == "area")
    marks = "".join(
        mark_of(number) if each.kind != "area" else "█" if number == last else SHADES[number % len(SHADES)]
        for number, each in enumerate(series)
    )
    return legend([each.name for each in series], width, margin, terminal, marks)
