"""Places of texts, marks and bars in pictures of shipped networks, read from the SVG."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import netcalc
from netcalc.render.plot import COUNT, Bars, Chart, Mark, Series, Values
from netcalc.render.plot.scene import Text, crosses, overlap
from netcalc.render.plot.svg import COLORS, DARK, DARK_COLORS, LIGHT, chart_svg, charts_svg
from netcalc.render.plot.text import chart_text
from netcalc.render.presentations import charts
from netcalc.render.text import Terminal, width_of
from tests.render.test_graph_layout import NAMES

DOCS = Path(__file__).parent.parent.parent / "docs"
_SVG = "{http://www.w3.org/2000/svg}"
_UNITS = {"B": 0, "KiB": 1, "MiB": 2, "GiB": 3}
#: Networks with the verbs whose charts are drawn.
NETWORKS = {
    "resnet18": ("memory", "summary"),
    "resnet50": ("memory", "time"),
    "mobilenet_v3_large": ("memory", "params"),
    "densenet121": ("memory", "flops"),
    "unet": ("memory", "time"),
    "gpt2": ("memory", "training"),
    "bert-base": ("memory", "summary"),
    "t5-small": ("memory", "time"),
    "llama-3.1-8b": ("memory", "time"),
    "vit_b_16": ("memory", "flops"),
    "mixtral-8x7b": ("memory", "params"),
}
CASES = [(name, verb) for name, verbs in NETWORKS.items() for verb in verbs]


@cache
def result(name: str, verb: str) -> Any:
    network = netcalc.load(name)
    match verb:
        case "memory":
            return network.memory()
        case "training":
            return network.memory(training="adamw")
        case "time":
            return network.time(device="h100")
        case "params" | "flops":
            return network.summary(view=verb)
    return network.summary()


@cache
def picture(name: str, verb: str) -> ElementTree.Element:
    return ElementTree.fromstring(charts_svg(charts(result(name, verb))))


def parts(svg: ElementTree.Element) -> Iterator[tuple[ElementTree.Element, float]]:
    """Yield the pictures of an SVG with their upper edges."""
    for group in svg.findall(f"{_SVG}g"):
        yield group, float(re.sub(r"translate\(0 |\)", "", group.get("transform", "0")))


def texts(group: ElementTree.Element) -> list[Text]:
    found = []
    for element in group.iter(f"{_SVG}text"):
        at = element.attrib
        angle = float(at.get("transform", "rotate(0").removeprefix("rotate(").split()[0])
        place = float(at["x"]), float(at["y"]), element.text or "", float(at["font-size"])
        found.append(Text(*place, at.get("text-anchor", "start"), angle, at.get("class", "")))  # type: ignore[arg-type]
    return found


def points(element: ElementTree.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (point.split(",") for point in element.attrib["points"].split())]


@pytest.mark.parametrize(("name", "verb"), CASES)
def test_texts_are_apart_and_inside(name: str, verb: str) -> None:
    svg = picture(name, verb)
    _, _, width, height = map(float, svg.attrib["viewBox"].split())
    drawn = [*parts(svg)]
    ends = [*(top for _, top in drawn[1:]), height]
    for (group, top), end in zip(drawn, ends, strict=True):
        shown = texts(group)
        assert len(shown) > 4
        assert [(a.text, b.text) for a, b in combinations(shown, 2) if overlap(a, b)] == []
        for text in shown:
            assert all(0 <= x <= width and 0 <= y <= end - top for x, y in text.corners), text
        for line in group.iter(f"{_SVG}polyline"):
            assert all(0 <= x <= width and 0 <= y <= end - top for x, y in points(line))


@pytest.mark.parametrize("name", NETWORKS)
def test_the_peak_is_marked_where_the_axes_say_that_it_is(name: str) -> None:
    """The value at the height of the mark, by the numbers of the axis, is the peak; below it is its layer."""
    report = result(name, "memory")
    ideal = report.ideal
    below = report.weights + report.buffers + (report.caches(report.conventions[0].name) if report.kept else 0)
    for (group, _), size in zip(parts(picture(name, "memory")), (below + ideal.peak, ideal.peak), strict=False):
        mark = next(element for element in group.iter() if element.get("class") == "peak")
        x, y = map(float, re.findall(r"[-\d.]+", mark.attrib["transform"]))
        shown = texts(group)
        unit = next(u for text in shown if (u := re.search(r"\((\w+)\)$", text.text)))[1]
        numbers = [(text.y - 4, float(text.text)) for text in shown if text.anchor == "end" and text.role == "quiet"]
        (low_y, low), (high_y, high) = numbers[0], numbers[-1]
        value = low + (high - low) * (y - low_y) / (high_y - low_y)
        assert value * 1024 ** _UNITS[unit] == pytest.approx(size, rel=0.01)
        words = next(text for text in shown if text.role == "mark")
        assert words.text.startswith("peak ") and ideal.at.rpartition(".")[2] in words.text
        corners = words.corners
        assert min(abs(corner[0] - x) for corner in corners) < 120 or corners[0][0] < x < corners[1][0]
        assert min(abs(corner[1] - y) for corner in corners) < 45
        named = [text for text in shown if text.size == 10.5 and abs(text.x - 3 * (text.angle < 0) - x) < 1]
        assert len(named) == 1, "the layer of the peak has its name on the axis"
        first = named[0].text.partition("…")[0].partition(" ×")[0]
        assert ideal.at.startswith(first)


def test_weights_are_below_caches_and_activations() -> None:
    """The lines of the areas are at the bytes of weights, of weights and caches, and above."""
    report = result("llama-3.1-8b", "memory")
    group, _ = next(parts(picture("llama-3.1-8b", "memory")))
    names = [text.text for text in texts(group)[1:5]]
    assert names == ["weights", "caches and states", "activations", "in all, eager"]
    lines = [points(line) for line in group.iter(f"{_SVG}polyline") if "line" in line.get("class", "").split()]
    weights, caches, activations = lines[1:4]  # behind the sample in the legend
    bottom = max(y for line in group.iter(f"{_SVG}polyline") for _, y in points(line) if line.get("class") == "axis")
    height = bottom - weights[0][1]
    assert {y for _, y in weights} == {weights[0][1]} and {y for _, y in caches} == {caches[0][1]}
    ratio = (bottom - caches[0][1]) / height
    assert ratio == pytest.approx((report.weights + report.caches("ideal")) / report.weights, rel=0.01)
    assert all(upper <= lower for (_, upper), (_, lower) in zip(activations, caches, strict=True))


@pytest.mark.parametrize(("name", "verb"), [case for case in CASES if case[1] in ("params", "flops")])
def test_bars_are_as_long_as_the_figures_of_layers(name: str, verb: str) -> None:
    summary = result(name, verb)
    figure = verb
    layers = [getattr(layer, figure) * layer.repeat for layer in summary.layers]
    group, _ = next(parts(picture(name, verb)))
    bars = [float(bar.attrib["width"]) for bar in group.iter(f"{_SVG}rect") if "bar" in bar.get("class", "").split()]
    largest = sorted((size for size in layers if size), reverse=True)
    shown = largest[:20] + ([sum(largest[20:])] if largest[20:] else [])
    assert len(bars) == len(shown)
    scale = max(bars) / max(shown)
    assert bars == pytest.approx([size * scale for size in shown], abs=0.1)
    labels = [text.text for text in texts(group) if " · " in text.text]
    assert sum(float(label.partition(" · ")[2].strip("<% ")) for label in labels) == pytest.approx(100, abs=2.5)


def _luminance(color: str) -> float:
    channels = [value / 255 for value in bytes.fromhex(color[1:])]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(first: str, second: str) -> float:
    """Contrast of two colors as WCAG 2.2 defines it."""
    high, low = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("page", "colors"), [(LIGHT, COLORS), (DARK, DARK_COLORS)], ids=["light", "dark"])
def test_colors_are_legible(page: dict[str, str], colors: Sequence[str]) -> None:
    """WCAG asks for 4.5 of text, and for 3 of graphics."""
    assert _contrast("#000000", "#ffffff") == pytest.approx(21)
    assert min(_contrast(page[role], page["back"]) for role in ("text", "quiet")) >= 4.5
    assert min(_contrast(color, page["back"]) for color in (*colors, page["axis"])) >= 3
    assert len({*colors}) == 8


@pytest.mark.parametrize("number", range(len(NAMES) + 1))
def test_names_cannot_leave_the_text(number: int) -> None:
    hostile = [*NAMES, '</text></style><script>alert(1)</script>"&\x1b[31m\u202e'][number]
    line = Series(hostile, [(0, 1), (1, 2)])
    dots = Series(hostile, [(0, 1)], kind="scatter", labels=[hostile])
    names = [(0.0, hostile), (1.0, hostile)]
    chart = Chart(hostile, hostile, hostile, [line, dots], names=names, marks=[Mark(1, 2, hostile)])
    bars = Bars(hostile, hostile, [hostile], [Values(hostile, [1], [hostile]), Values(hostile, [1])], COUNT)
    svg = charts_svg([chart, bars])
    root = ElementTree.fromstring(svg)
    kinds = {element.tag.removeprefix(_SVG) for element in root.iter()}
    assert kinds == {"svg", "style", "rect", "g", "title", "text", "polyline", "path"}
    assert not any(name.startswith("on") or "href" in name for element in root.iter() for name in element.attrib)
    assert not re.search("[\x00-\x08\x1b\u202e\u2028\ufffe\ud800]", svg) and "<script" not in svg and "<b>" not in svg
    _, _, width, _ = map(float, root.attrib["viewBox"].split())
    shown = [text for group, _ in parts(root) for text in texts(group)]
    assert all(0 <= x <= width for text in shown for x, _ in text.corners)
    assert [text.text for text in shown if len(text.text) > 250] == []
    for drawing in (chart, bars):
        lines = [*chart_text(drawing, Terminal(width=80))]
        assert all(line.isprintable() for line in lines) and all(width_of(line) <= 80 for line in lines[-20:])


def test_words_of_marks_avoid_each_other_and_the_lines() -> None:
    line = Series("line", [(0, 0), (10, 10)])
    marks = [Mark(x, x, f"point {x}") for x in (5, 5.2, 2)]
    group, _ = next(parts(ElementTree.fromstring(chart_svg(Chart("t", "x", "y", [line], marks=marks)))))
    words = [text for text in texts(group) if text.role == "mark"]
    assert [text.text for text in words] == ["point 5", "point 5.2", "point 2"]
    (drawn,) = [points(e) for e in group.iter(f"{_SVG}polyline") if "line" in e.get("class", "").split()]
    assert not any(crosses(text, drawn) for text in words)
    assert not any(overlap(a, b) for a, b in combinations(words, 2))


def test_overlaps_of_turned_texts_are_seen() -> None:
    a, b = Text(0, 0, "M" * 10, 10, angle=-45), Text(10, 0, "M" * 10, 10, angle=-45)
    assert overlap(a, b) and not overlap(a, b._replace(x=20)) and overlap(a, Text(20, -20, "M", 10))


@pytest.mark.parametrize(
    ("name", "network", "verb"), [("memory", "t5-small", "memory"), ("roofline", "resnet50", "time on an A100")]
)
def test_pictures_of_the_page(name: str, network: str, verb: str, request: pytest.FixtureRequest) -> None:
    """The pictures of docs/charts.md are those that its commands draw."""
    drawn = result(network, verb) if verb == "memory" else netcalc.load(network).time(device="a100")
    svg, file = charts_svg(charts(drawn)), DOCS / "charts" / f"{name}.svg"
    if request.config.getoption("--update"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(svg, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == svg, f"{file}: run pytest --update, and look at it"
    assert f"(charts/{name}.svg)" in (DOCS / "charts.md").read_text(encoding="utf-8")


def test_pictures_are_the_same_every_time(tmp_path: Path) -> None:
    for name in ("a", "b"):
        netcalc.load("resnet18").memory().plot(tmp_path / f"{name}.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize("count", [2, 9, 30, 60, 90, 400])
@pytest.mark.parametrize(
    "name", ["fc", "model.layers.{}.mlp", "encoder.layers.encoder_layer_{}.self_attention.out_proj ×12"]
)
def test_any_number_of_names_is_apart(count: int, name: str) -> None:
    """The name of the marked layer is among them, and at least a name for each 80 pixels of more."""
    names = [(float(n), name.format(n)) for n in range(count)]
    marked = count * 2 // 3
    line = Series("line", [(x, x) for x, _ in names])
    chart = Chart("t", "layer", "y", [line], names=names, marks=[Mark(marked, marked, "peak")])
    svg = ElementTree.fromstring(chart_svg(chart))
    _, _, width, height = map(float, svg.attrib["viewBox"].split())
    group, _ = next(parts(svg))
    shown = texts(group)
    assert [(a.text, b.text) for a, b in combinations(shown, 2) if overlap(a, b)] == []
    assert all(0 <= x <= width and 0 <= y <= height for text in shown for x, y in text.corners)
    places = sorted(text.x - 3 * (text.angle < 0) for text in shown if text.size == 10.5)
    assert len(places) == count or len(places) >= 8
    peak = next(element for element in group.iter() if element.get("class") == "peak")
    x = float(re.findall(r"[-\d.]+", peak.attrib["transform"])[0])
    assert min(abs(place - x) for place in places) < 1
