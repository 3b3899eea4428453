"""Drawings as SVG, without styles or fonts from outside, in the colors of a light or a dark page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from netcalc.render.plot.charts import Bars, Drawing, HeatMap
from netcalc.render.plot.heat_map import map_scene
from netcalc.render.plot.layout import bars_scene, chart_scene
from netcalc.render.plot.scene import Area, Box, Dot, Line, Scene, Text

#: Colors of series on light and on dark pages, which people with defective color vision tell apart by their lightness.
COLORS = ("#0369a1", "#c2410c", "#047857", "#be185d", "#a16207", "#6d28d9", "#475569", "#0e7490")
DARK_COLORS = ("#38bdf8", "#fb923c", "#34d399", "#f472b6", "#facc15", "#a78bfa", "#cbd5e1", "#22d3ee")
#: Colors of the page, of text, of quiet text, of the grid and of axes, as in pictures of graphs.
LIGHT = {"back": "#ffffff", "text": "#0f172a", "quiet": "#475569", "grid": "#e2e8f0", "axis": "#64748b"}
DARK = {"back": "#0b1120", "text": "#f1f5f9", "quiet": "#a8b3c4", "grid": "#253047", "axis": "#94a3b8"}
_FONTS = 'system-ui,-apple-system,"Segoe UI","Liberation Sans",Arial,"DejaVu Sans",sans-serif'
_CLASS = ".netcalc-chart"
#: Paths of the shapes of points, by the number of the series.
_SHAPES = ("M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "M-3.5-3.5h7v7h-7z", "M0-4.5L4.5 3.5H-4.5z", "M0-5L5 0L0 5L-5 0z")


def chart_svg(chart: Drawing) -> str:
    """Return a drawing as an SVG document."""
    return charts_svg([chart])


def charts_svg(charts: Sequence[Drawing]) -> str:
    """Return drawings below one another as one SVG document."""
    scenes = [scene_of(chart) for chart in charts]
    width, height = (round(number) for number in (max(s.width for s in scenes), sum(s.height for s in scenes)))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="netcalc-chart" role="img" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" aria-label="{escape("; ".join(scene.title for scene in scenes))}">',
        f"<style>{_style()}</style>",
        f'<rect class="back" width="{width}" height="{height}"/>',
    ]
    top = 0.0
    for scene in scenes:
        move = f' transform="translate(0 {_n(top)})"' if top else ""
        lines += [f"<g{move}>", f"<title>{escape(scene.title)}</title>", *map(_element, scene.items), "</g>"]
        top += scene.height
    return "\n".join([*lines, "</svg>", ""])


def scene_of(chart: Drawing) -> Scene:
    """Return the picture of a drawing, with the place of everything."""
    if isinstance(chart, HeatMap):
        return map_scene(chart)
    return bars_scene(chart) if isinstance(chart, Bars) else chart_scene(chart)


def _style() -> str:
    """Return the rules of the colors: for light pages, and for dark ones."""
    fixed = [
        f"{_CLASS} text{{font-family:{_FONTS};white-space:pre}}",
        f"{_CLASS} .head,{_CLASS} .mark{{font-weight:bold}}",
        f"{_CLASS} .mark{{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}}",
        f"{_CLASS} .line{{fill:none;stroke-width:1.8;stroke-linejoin:round}}",
        f"{_CLASS} .dashed{{stroke-dasharray:6 4}}",
        f"{_CLASS} .area{{fill-opacity:.55}}",
        f"{_CLASS} .grid,{_CLASS} .axis{{fill:none}}",
        f"{_CLASS} .peak{{stroke-width:2}}",
    ]
    dark = "".join(_colors(DARK, DARK_COLORS))
    return "".join([*fixed, *_colors(LIGHT, COLORS), f"@media (prefers-color-scheme:dark){{{dark}}}"])


def _colors(page: dict[str, str], series: Sequence[str]) -> Iterator[str]:
    yield f"{_CLASS} .back{{fill:{page['back']}}}"
    yield f"{_CLASS} text{{fill:{page['text']}}}"
    yield f"{_CLASS} .quiet{{fill:{page['quiet']}}}"
    yield f"{_CLASS} .mark{{stroke:{page['back']}}}"
    yield f"{_CLASS} .grid{{stroke:{page['grid']}}}"
    yield f"{_CLASS} .axis{{stroke:{page['axis']}}}"
    yield f"{_CLASS} .peak{{fill:{page['back']};stroke:{page['text']}}}"
    for number, color in enumerate(series):
        yield f"{_CLASS} .line.s{number}{{stroke:{color}}}"
        yield f"{_CLASS} .area.s{number},{_CLASS} .dot.s{number},{_CLASS} .bar.s{number}{{fill:{color}}}"


def _element(item: Text | Line | Area | Dot | Box) -> str:
    """Return an item as an element."""
    match item:
        case Text():
            return _text(item)
        case Line(points, role, dashed):
            kind = f'"{role}"' if isinstance(role, str) else f'"line s{role % len(COLORS)}{" dashed" * dashed}"'
            return f'<polyline class={kind} points="{_points(points)}"/>'
        case Area(points, series):
            return f'<polygon class="area s{series % len(COLORS)}" points="{_points(points)}"/>'
        case Dot(x, y, series, title):
            kind = "peak" if series is None else f"dot s{series % len(COLORS)}"
            shape = _SHAPES[0 if series is None else series % len(_SHAPES)]
            return _titled(f'<path class="{kind}" transform="translate({_n(x)} {_n(y)})" d="{shape}"', "path", title)
        case Box(x, y, width, height, fill, title):
            color = f'class="bar s{fill % len(COLORS)}"' if isinstance(fill, int) else f'fill="{fill}"'
            color = 'class="axis"' if fill is None else color
            size = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
            return _titled(f"<rect {color} {size}", "rect", title)


def _titled(start: str, name: str, title: str) -> str:
    return f"{start}><title>{escape(title)}</title></{name}>" if title else f"{start}/>"


def _text(item: Text) -> str:
    kind = f' class="{item.role}"' if item.role else ""
    anchor = f' text-anchor="{item.anchor}"' if item.anchor != "start" else ""
    x, y = _n(item.x), _n(item.y)
    turned = f' transform="rotate({_n(item.angle)} {x} {y})"' if item.angle else ""
    return f'<text{kind} x="{x}" y="{y}" font-size="{_n(item.size)}"{anchor}{turned}>{escape(item.text)}</text>'


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in points)


def _n(number: float) -> str:
    """Write a number of pixels with a decimal."""
    return f"{round(number, 1) + 0.0:g}" if abs(number) < 1e5 else f"{number:.1f}"
