"""Charts of shipped networks in Chromium, which measures the texts with the fonts that it has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netcalc.render.plot.svg import DARK, LIGHT
from tests.render.test_plot_layout import CASES, result

# texts that are turned have large upright boxes: their overlaps are those of rectangles in their own direction
_MEASURE = """() => {
  const svg = document.documentElement
  const view = svg.getBoundingClientRect()
  const corners = text => {
    const box = text.getBBox(), matrix = text.getScreenCTM()
    return [[box.x, box.y], [box.x + box.width, box.y], [box.x + box.width, box.y + box.height],
      [box.x, box.y + box.height]].map(([x, y]) => new DOMPoint(x, y).matrixTransform(matrix))
  }
  const texts = [...svg.querySelectorAll('text')].map(text => [text.textContent, corners(text)])
  const outside = texts.filter(([, points]) =>
    points.some(p => p.x < view.left || p.x > view.right || p.y < view.top || p.y > view.bottom)).map(([name]) => name)
  const apart = (first, second) => [first, second].some(points => points.some((p, n) => {
    const q = points[(n + 1) % 4], spans = [first, second].map(
      all => all.map(r => (q.y - p.y) * r.x + (p.x - q.x) * r.y))
    // a line of text is a little higher than its letters
    const gap = 3 * Math.hypot(q.x - p.x, q.y - p.y)
    return Math.max(...spans[0]) <= Math.min(...spans[1]) + gap || Math.max(...spans[1]) <= Math.min(...spans[0]) + gap
  }))
  const overlaps = texts.flatMap(([name, points], n) =>
    texts.slice(n + 1).filter(([, others]) => !apart(points, others)).map(([other]) => [name, other]))
  const back = getComputedStyle(svg.querySelector('.back')).fill
  return {outside, overlaps, back, texts: texts.length}
}"""


def _rgb(color: str) -> str:
    return f"rgb({', '.join(map(str, bytes.fromhex(color[1:])))})"


@pytest.mark.parametrize(("name", "verb"), CASES)
def test_texts_are_apart_and_inside(name: str, verb: str, chromium: Any, tmp_path: Path) -> None:
    file = tmp_path / "chart.svg"
    result(name, verb).plot(file)
    for scheme, colors in (("light", LIGHT), ("dark", DARK)):
        context = chromium.new_context(color_scheme=scheme)
        page = context.new_page()
        page.goto(file.as_uri())
        measured = page.evaluate(_MEASURE)
        context.close()
        assert measured["texts"] > 4
        assert (measured["outside"], measured["overlaps"]) == ([], [])
        assert measured["back"] == _rgb(colors["back"])
