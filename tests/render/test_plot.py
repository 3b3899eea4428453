"""Line charts in characters and as SVG."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.render.page import page_html, page_markdown, page_text
from netcalc.render.plot import Chart, Series
from netcalc.render.plot.axes import axes
from netcalc.render.plot.svg import chart_svg
from netcalc.render.plot.text import chart_text
from netcalc.render.text import PLAIN, Terminal, width_of

_SVG = "{http://www.w3.org/2000/svg}"


def _chart(*lines: list[tuple[float, float]], log_x: bool = False, log_y: bool = False) -> Chart:
    series = [Series(f"line {number}", points) for number, points in enumerate(lines)]
    return Chart("title", "step", "loss", series, log_x, log_y)


def _elements(chart: Chart, kind: str) -> list[list[tuple[float, float]]]:
    """Return the points of the lines of a kind in the SVG, without the samples of the legend."""
    lines = ElementTree.fromstring(chart_svg(chart)).iter(f"{_SVG}polyline")
    points = [line.attrib["points"].split() for line in lines if kind in line.attrib["class"].split()]
    placed = [[(float(x), float(y)) for x, y in (point.split(",") for point in line)] for line in points]
    return [line for line in placed if line[0] != (line[-1][0] - 24, line[-1][1])]


def _lines(chart: Chart) -> list[list[tuple[float, float]]]:
    return _elements(chart, "line")


def _dots(chart: Chart) -> list[ElementTree.Element]:
    return [e for e in ElementTree.fromstring(chart_svg(chart)).iter() if "dot" in e.get("class", "").split()]


def _labels(chart: Chart) -> tuple[list[str], list[str]]:
    found = axes(chart, 4, 4)
    assert found is not None
    return [label for _, label in found[0].marks], [label for _, label in found[1].marks]


def test_marks_are_multiples_of_1_2_or_5() -> None:
    assert _labels(_chart([(1, 0.13), (20, 2.31)])) == (["5", "10", "15", "20"], ["0", "1", "2", "3"])
    assert _labels(_chart([(0, 1000), (1, 1300)])) == (["0", "1"], ["1000", "1100", "1200", "1300"])
    assert _labels(_chart([(0, 2e-7), (1, 6e-7)])) == (["0", "1"], ["2e-7", "3e-7", "4e-7", "5e-7", "6e-7"])
    assert _labels(_chart([(0, -2), (3, 2)])) == (["0", "1", "2", "3"], ["-2", "-1", "0", "1", "2"])


def test_marks_of_a_logarithmic_axis_are_powers_of_ten() -> None:
    assert _labels(_chart([(1, 0.02), (1000, 30)], log_x=True, log_y=True)) == (
        ["1", "10", "100", "1000"],
        ["0.01", "0.1", "1", "10", "100"],
    )
    assert _labels(_chart([(0, 1e-12), (1, 1)], log_y=True))[1] == ["1e-12", "1e-9", "1e-6", "0.001", "1"]
    assert _labels(_chart([(0, 2.5), (1, 4)], log_y=True))[1] == ["2", "5"]


def test_a_line_in_braille() -> None:
    """Dots of the two upper corners of a character have the bits 1 and 8, that of the lower left one 64."""
    lines = list(chart_text(_chart([(0, 0), (0.5, math.nan), (0, 1), (1, 1)]), Terminal(width=17), height=3))
    assert lines == [
        "title",
        "loss",
        "1.0 ┤" + chr(0x2800 + 1 + 8) * 12,
        "0.5 ┤",
        "  0 ┤" + chr(0x2800 + 64),
        "    └┬──────────┬",
        "     0          1",
        "             step",
    ]


def test_several_series_have_a_mark_each_and_take_turns() -> None:
    low, high = [(0.0, 0.0), (11.0, 0.0)], [(0.0, 1.0), (11.0, 1.0)]
    lines = list(chart_text(_chart(low, high, low), Terminal(width=17), height=3))
    assert [line[-12:] for line in lines if "┤" in line][::2] == ["○" * 12, "●▲" * 6]
    assert [line.split() for line in lines[-3:]] == [[mark, "line", str(n)] for n, mark in enumerate("●○▲")]


def test_values_that_are_not_finite_leave_a_gap() -> None:
    chart = _chart([(0, 1), (1, 2), (2, math.nan), (3, 2), (4, math.inf), (5, 1), (6, 2)])
    assert [len(points) for points in _lines(chart)] == [2, 2]
    assert len(_dots(chart)) == 1
    zero = _chart([(0, 1.0), (1, 0.0), (2, 1.0)], log_y=True)
    assert len(_dots(zero)) == 2


def test_nothing_to_draw_is_said() -> None:
    empty = _chart([(0, math.nan)])
    assert "no finite values" in list(chart_text(empty))
    assert "no finite values" in chart_svg(empty)


def test_points_of_an_svg() -> None:
    """The line begins and ends at the edges of the plane, whose frame is the axes."""
    chart = _chart([(0, 0), (1, 4), (2, 2)])
    (line,) = _lines(chart)
    (left, top), (_, bottom), (right, _) = _elements(chart, "axis")[-1]
    assert line == [(left, bottom), (pytest.approx((left + right) / 2, abs=0.1), top), (right, (top + bottom) / 2)]
    assert bottom - top == 300


def test_a_dashed_series_and_the_legend() -> None:
    points = [(0.0, 1.0), (1.0, 2.0)]
    svg = chart_svg(Chart("t", "x", "y", [Series("measured", points), Series("predicted", points, dashed=True)]))
    dashed = [e for e in ElementTree.fromstring(svg).iter() if "dashed" in e.get("class", "")]
    assert len(dashed) == 2  # the line, and its sample in the legend
    assert ">predicted</text>" in svg
    assert ">predicted</text>" not in chart_svg(Chart("t", "x", "y", [Series("predicted", points)]))


def test_names_are_escaped() -> None:
    chart = Chart("<b>\x1b[31m", "a & b", '"', [Series("<script>", [(0, 1)]), Series("\n", [(0, 1)])])
    root = ElementTree.fromstring(chart_svg(chart))
    assert root.findtext(f"{_SVG}g/{_SVG}title") == "<b>\\x1b[31m"
    assert "<script>" not in chart_svg(chart)
    assert all("\x1b" not in line and "\n" not in line for line in chart_text(chart))


def test_a_chart_is_a_part_of_a_page() -> None:
    chart = _chart([(0, 1), (1, 2)])
    assert list(page_text([chart])) == list(chart_text(chart))
    markdown = list(page_markdown([chart]))
    assert (markdown[0], markdown[-1]) == ("```text", "```")
    assert "<svg " in page_html([chart])


def test_colors_only_where_the_terminal_has_them() -> None:
    chart = _chart([(0, 1), (1, 2)], [(0, 2), (1, 1)])
    assert all("\x1b" not in line for line in chart_text(chart, PLAIN))
    assert any("\x1b[33m○" in line for line in chart_text(chart, Terminal(color=True, width=60)))


_numbers = st.floats(width=64) | st.integers(-5, 50).map(float)
_points = st.lists(st.tuples(_numbers, _numbers), max_size=6)


@pytest.mark.parametrize("log", [False, True])
@given(st.lists(_points, min_size=1, max_size=3), st.integers(40, 100))
def test_any_numbers_are_drawn_within_the_width(log: bool, lines: list[list[tuple[float, float]]], width: int) -> None:
    chart = _chart(*lines, log_x=log, log_y=log)
    assert all(width_of(line) <= width for line in chart_text(chart, Terminal(width=width)))
    frames = _elements(chart, "axis")
    for points in _lines(chart):
        (left, top), (_, bottom), (right, _) = frames[-1]
        assert all(left <= x <= right and top <= y <= bottom for x, y in points)
