"""Line charts and heat maps as PNG, drawn by Pillow."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.render.escapes import clean
from netcalc.render.plot import Axis, Chart, Drawing, HeatMap, axes, pieces
from netcalc.render.plot_map import draw_map, png_height
from netcalc.render.plot_svg import COLORS

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

_WIDTH, _HEIGHT, _LINE = 1440, 800, 40
_LEFT, _RIGHT, _TOP, _BOTTOM = 150, 40, 80, 110
_SIZE = 24
_INK, _GRID = "#222222", "#dddddd"
_DASH = 14.0


def require_pillow() -> None:
    """Raise NetcalcError (E502) if Pillow is not installed."""
    try:
        import PIL  # noqa: F401
    except ImportError:
        message = "a picture in PNG needs Pillow, which is not installed"
        raise NetcalcError(Diagnostic("E502", message, hint='pip install "Pillow>=10.1", or write an .svg')) from None


def charts_png(charts: Sequence[Drawing]) -> bytes:
    """Return charts below one another as a PNG image; NetcalcError (E502) if Pillow is not installed."""
    require_pillow()
    from PIL import Image, ImageDraw

    heights = [_height(chart) for chart in charts]
    image = Image.new("RGB", (_WIDTH, sum(heights)), "white")
    draw = ImageDraw.Draw(image)
    top = 0
    for chart, height in zip(charts, heights, strict=True):
        if isinstance(chart, HeatMap):
            draw_map(draw, chart, top, _font(), _INK)
        else:
            _draw(draw, chart, top)
        top += height
    return _encoded(image.tobytes(), *image.size)


def _height(chart: Drawing) -> int:
    """Return the height of a chart with its legend."""
    if isinstance(chart, HeatMap):
        return png_height()
    return _HEIGHT + _LINE * (len(chart.series) if len(chart.series) > 1 else 0)


def _encoded(pixels: bytes, width: int, height: int) -> bytes:
    """Return pixels of three bytes as a PNG file, without filters."""
    rows = b"".join(b"\0" + pixels[start : start + 3 * width] for start in range(0, len(pixels), 3 * width))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def _draw(draw: ImageDraw, chart: Chart, top: int) -> None:
    """Draw a chart whose upper edge is at ``top``."""
    font = _font()
    right, bottom = _WIDTH - _RIGHT, top + _HEIGHT - _BOTTOM
    draw.text((_WIDTH / 2, top + _TOP / 2), clean(chart.title), _INK, font, anchor="mm")
    pair = axes(chart, 8, 6)
    if pair is None:
        draw.text((_WIDTH / 2, top + _HEIGHT / 2), "no finite values", _INK, font, anchor="mm")
        return
    horizontal, vertical = pair
    for place, label in horizontal.marks:
        x = _LEFT + horizontal.share(place) * (right - _LEFT)
        draw.line([(x, top + _TOP), (x, bottom)], _GRID, 1)
        draw.text((x, bottom + 24), label, _INK, font, anchor="mm")
    for place, label in vertical.marks:
        y = bottom - vertical.share(place) * (bottom - top - _TOP)
        draw.line([(_LEFT, y), (right, y)], _GRID, 1)
        draw.text((_LEFT - 12, y), label, _INK, font, anchor="rm")
    draw.rectangle([(_LEFT, top + _TOP), (right, bottom)], outline=_INK)
    draw.text(((_LEFT + right) / 2, bottom + 64), clean(chart.x), _INK, font, anchor="mm")
    draw.text((_LEFT, top + _TOP - 18), clean(chart.y), _INK, font, anchor="lm")
    _series(draw, chart, horizontal, vertical, (_LEFT, top + _TOP, right, bottom))
    if len(chart.series) > 1:
        for number, series in enumerate(chart.series):
            y = top + _HEIGHT - 8 + number * _LINE
            _path(draw, [(_LEFT, y), (_LEFT + 60, y)], number, dashed=series.dashed)
            draw.text((_LEFT + 76, y), clean(series.name), _INK, font, anchor="lm")


def _series(
    draw: ImageDraw, chart: Chart, horizontal: Axis, vertical: Axis, box: tuple[float, float, float, float]
) -> None:
    left, top, right, bottom = box
    for number, series in enumerate(chart.series):
        for piece in pieces(chart, series):
            points = [
                (left + horizontal.at(x) * (right - left), bottom - vertical.at(y) * (bottom - top)) for x, y in piece
            ]
            if len(points) == 1:
                (x, y), radius = points[0], 4
                draw.ellipse([(x - radius, y - radius), (x + radius, y + radius)], _color(number))
            _path(draw, points, number, dashed=series.dashed)


def _path(draw: ImageDraw, points: Sequence[tuple[float, float]], number: int, *, dashed: bool) -> None:
    """Draw a line through points; dashes continue over its corners."""
    if not dashed:
        draw.line(list(points), _color(number), 4, joint="curve")
        return
    travelled = 0.0
    for (x, y), (to_x, to_y) in zip(points, points[1:], strict=False):  # noqa: RUF007 - a pair at a time
        length = ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5
        done = 0.0
        while done < length:
            step = min(_DASH - travelled % _DASH, length - done)
            if int(travelled // _DASH) % 2 == 0:
                ends = [done / length, (done + step) / length]
                draw.line([(x + (to_x - x) * s, y + (to_y - y) * s) for s in ends], _color(number), 4)
            done += max(step, 1e-6)
            travelled += max(step, 1e-6)


def _color(number: int) -> str:
    return COLORS[number % len(COLORS)]


def _font() -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(_SIZE)
