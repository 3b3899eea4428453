"""Line charts and heat maps as SVG, without styles or fonts from outside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from netcalc.render.escapes import clean
from netcalc.render.plot import Chart, Drawing, HeatMap, axes, pieces
from netcalc.render.plot_map import map_height, map_svg

#: Colors that are told apart by people with defective color vision (Okabe and Ito).
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#8c6d1f")
_WIDTH, _HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 20, 36, 52
#: Height of a line of the legend, and the width of a character of it.
_LINE, _CHARACTER = 18, 7.2


def chart_svg(chart: Drawing) -> str:
    """Return the chart as an SVG document, with the legend below it if there is more than one series."""
    total = _height(chart)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {total}" width="{_WIDTH}" height="{total}" '
        'role="img" font-family="sans-serif" font-size="12">',
        f"<title>{_text(chart.title)}</title>",
        f'<rect width="{_WIDTH}" height="{total}" fill="#ffffff"/>',
    ]
    if isinstance(chart, HeatMap):
        return "\n".join([*lines, *map_svg(chart, _WIDTH), "</svg>", ""])
    lines += [
        f'<text x="{_WIDTH / 2:g}" y="22" text-anchor="middle" font-size="14">{_text(chart.title)}</text>',
        *_body(chart),
    ]
    for row, left, number in _legend(chart):
        y = _HEIGHT + row * _LINE
        series = chart.series[number]
        lines.append(f'<path d="M{left:g} {y}h24" {_stroke(number, dashed=series.dashed)}/>')
        lines.append(f'<text x="{left + 30:g}" y="{y + 4}">{_text(series.name)}</text>')
    return "\n".join([*lines, "</svg>", ""])


def charts_svg(charts: Sequence[Drawing]) -> str:
    """Return charts below one another as one SVG document."""
    if len(charts) == 1:
        return chart_svg(charts[0])
    parts, top = [], 0
    for chart in charts:
        parts.append(chart_svg(chart).replace("<svg ", f'<svg y="{top}" ', 1))
        top += _height(chart)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top}" width="{_WIDTH}" height="{top}">'
    return "\n".join([head, *(part.rstrip("\n") for part in parts), "</svg>", ""])


def _height(chart: Drawing) -> int:
    """Return the height of a chart with its legend."""
    if isinstance(chart, HeatMap):
        return map_height()
    return _HEIGHT + (1 + max((row for row, _, _ in _legend(chart)), default=-1)) * _LINE


def _body(chart: Chart) -> Iterator[str]:
    """Yield grid, axes and lines."""
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    pair = axes(chart, 8, 6)
    if pair is None:
        yield f'<text x="{_WIDTH / 2:g}" y="{_HEIGHT / 2:g}" text-anchor="middle">no finite values</text>'
        return
    horizontal, vertical = pair
    for place, label in horizontal.marks:
        x = _between(horizontal.share(place), _LEFT, right)
        yield f'<path d="M{x} {_TOP}V{bottom}" stroke="#e4e4e4"/>'
        yield f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{_text(label)}</text>'
    for place, label in vertical.marks:
        y = _between(vertical.share(place), bottom, _TOP)
        yield f'<path d="M{_LEFT} {y}H{right}" stroke="#e4e4e4"/>'
        yield f'<text x="{_LEFT - 8}" y="{y}" dy="4" text-anchor="end">{_text(label)}</text>'
    yield f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="#333333"/>'
    yield f'<text x="{(_LEFT + right) / 2:g}" y="{bottom + 38}" text-anchor="middle">{_text(chart.x)}</text>'
    middle = f"{(_TOP + bottom) / 2:g}"
    yield f'<text x="16" y="{middle}" text-anchor="middle" transform="rotate(-90 16 {middle})">{_text(chart.y)}</text>'
    for number, series in enumerate(chart.series):
        for piece in pieces(chart, series):
            places = [
                f"{_between(horizontal.at(x), _LEFT, right)},{_between(vertical.at(y), bottom, _TOP)}" for x, y in piece
            ]
            if len(places) == 1:
                x, _, y = places[0].partition(",")
                yield f'<circle cx="{x}" cy="{y}" r="2.5" fill="{COLORS[number % len(COLORS)]}"/>'
            else:
                yield f'<polyline points="{" ".join(places)}" {_stroke(number, dashed=series.dashed)}/>'


def _legend(chart: Chart) -> Iterator[tuple[int, float, int]]:
    """Yield row, left end and number of each series if there are several; a row holds as many as fit."""
    row, left = 0, float(_LEFT)
    for number, series in enumerate(chart.series if len(chart.series) > 1 else ()):
        needed = 46 + _CHARACTER * len(clean(series.name))
        if left > _LEFT and left + needed > _WIDTH - _RIGHT:
            row, left = row + 1, float(_LEFT)
        yield row, left, number
        left += needed


def _stroke(number: int, *, dashed: bool) -> str:
    dashes = ' stroke-dasharray="6 4"' if dashed else ""
    return f'fill="none" stroke="{COLORS[number % len(COLORS)]}" stroke-width="1.8"{dashes}'


def _between(share: float, first: float, last: float) -> str:
    return f"{first + share * (last - first):.1f}"


def _text(text: str) -> str:
    return escape(clean(text))
