"""Pictures of graphs: nothing overlaps, and every text fits into its box."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import netcalc
from netcalc.render.graph_script import called, graph_layout
from netcalc.render.graphs import _record

SPECS = [
    *("resnet34", "vit_b_16", "gpt2", "unet", "llama-3-8b", "inception_v3", "mixtral-8x7b", "t5-small", "gemma-3-4b"),
    *("alexnet", "lenet5", "mlp", "lstm", "densenet121", "mobilenet_v2", "bert-base", "deepseek-v3", "swin_t"),
    *("convnext_tiny", "mamba-130m", "googlenet", "detr_resnet50"),
]
#: Pixels by which numbers may differ.
ROUNDING = 0.01

Rectangle = tuple[float, float, float, float]


@cache
def graph_of(name: str, direction: str) -> Any:
    return _record(netcalc.load(name).graph(direction=direction))


@cache
def layout_of(name: str, direction: str) -> Any:
    return graph_layout(graph_of(name, direction), direction, ("params", "macs"))


def rectangle(box: Any) -> Rectangle:
    return box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]


def overlap(one: Rectangle, other: Rectangle) -> bool:
    (left, top, right, bottom), (x0, y0, x1, y1) = one, other
    return left < x1 - ROUNDING and x0 < right - ROUNDING and top < y1 - ROUNDING and y0 < bottom - ROUNDING


def contains(outer: Rectangle, inner: Rectangle) -> bool:
    return (
        outer[0] <= inner[0] + ROUNDING
        and outer[1] <= inner[1] + ROUNDING
        and outer[2] >= inner[2] - ROUNDING
        and outer[3] >= inner[3] - ROUNDING
    )


def drawn(points: list[list[float]], across: bool) -> Iterator[Rectangle]:
    """Yield small rectangles around the pieces of a line, bends included, as the picture draws them.

    A bend is a cubic curve whose control points lie half way between the ranks.
    """
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        steps = 1 if x0 == x1 or y0 == y1 else 24
        places = []
        for step in range(steps + 1):
            t = step / steps
            between = 3 * t * t - 2 * t**3  # across ranks
            along = 1.5 * t * (1 - t) ** 2 + 1.5 * t * t * (1 - t) + t**3
            right, down = (along, between) if across else (between, along)
            places.append((x0 + (x1 - x0) * right, y0 + (y1 - y0) * down))
        for (left, top), (right, bottom) in itertools.pairwise(places):
            yield min(left, right), min(top, bottom), max(left, right), max(top, bottom)


CASES = [(name, "TB") for name in SPECS] + [(name, "LR") for name in SPECS[:8]]


@pytest.mark.parametrize(("name", "direction"), CASES)
def test_no_boxes_and_labels_overlap(name: str, direction: str) -> None:
    placed = layout_of(name, direction)
    boxes = [(node["id"], rectangle(node)) for node in placed["nodes"]]
    labels = [(edge["label"]["text"], rectangle(edge["label"])) for edge in placed["edges"] if edge["label"]]
    headings = [(text["text"], rectangle(text)) for group in placed["groups"] for text in group["texts"]]
    for (one, first), (other, second) in itertools.combinations([*boxes, *labels, *headings], 2):
        assert not overlap(first, second), (one, other)
    parents = {item["id"]: item["group"] for kind in ("nodes", "groups") for item in graph_of(name, direction)[kind]}
    groups = {group["id"]: rectangle(group) for group in placed["groups"]}
    for identity, place in [*boxes, *groups.items()]:
        around = set()
        parent = parents[identity]
        while parent is not None:
            around.add(parent)
            assert contains(groups[parent], place)
            parent = parents[parent]
        for other, group in groups.items():
            inside = identity in _ancestors(other, parents)
            assert other in around or other == identity or inside or not overlap(group, place), (identity, other)
    for group in placed["groups"]:
        assert all(contains(rectangle(group), rectangle(text)) for text in group["texts"])
    for _, place in [*boxes, *labels]:
        assert contains((0, 0, placed["width"], placed["height"]), place)


def _ancestors(identity: str, parents: dict[str, Any]) -> set[str]:
    result = set()
    parent = parents[identity]
    while parent is not None:
        result.add(parent)
        parent = parents[parent]
    return result


@pytest.mark.parametrize(("name", "direction"), CASES)
def test_no_line_runs_through_a_box_or_a_text(name: str, direction: str) -> None:
    placed = layout_of(name, direction)
    boxes = [(node["id"], rectangle(node)) for node in placed["nodes"]]
    headings = [rectangle(text) for group in placed["groups"] for text in group["texts"]]
    groups = {group["id"]: rectangle(group) for group in placed["groups"]}
    graph = graph_of(name, direction)
    parents = {item["id"]: item["group"] for kind in ("nodes", "groups") for item in graph[kind]}
    reached: dict[int, set[str]] = {}
    for edge in placed["edges"]:
        labels = [rectangle(other["label"]) for other in placed["edges"] if other["label"] and other is not edge]
        near = _ancestors(edge["from"], parents) | _ancestors(edge["to"], parents) | {edge["from"], edge["to"]}
        others = [place for identity, place in groups.items() if identity not in near]
        for piece in drawn(edge["points"], direction == "LR"):
            assert not any(overlap(piece, place) for place in (*others, *headings, *labels)), edge
            assert not any(overlap(piece, place) for identity, place in boxes if identity not in near), edge
        for end, side in ((edge["from"], edge["points"][0]), (edge["to"], edge["points"][-1])):
            box = dict(boxes).get(end) or groups[end]
            assert contains(box, (*side, *side)) and not overlap(
                (box[0] + 0.1, box[1] + 0.1, box[2] - 0.1, box[3] - 0.1), (*side, *side)
            )
        for of in edge["of"]:
            reached.setdefault(of, set()).update((edge["from"], edge["to"]))
        for end, point in ((edge["from"], edge["points"][0]), (edge["to"], edge["points"][-1])):
            assert end not in groups or any(
                other is not edge
                and set(other["of"]) & set(edge["of"])
                and any(
                    abs(x - point[0]) + abs(y - point[1]) < ROUNDING
                    for x, y in (other["points"][0], other["points"][-1])
                )
                for other in placed["edges"]
            ), f"a line ends at {end}"
    for place, edge in enumerate(graph["edges"]):  # every tensor is drawn from its source to its target
        assert {edge["source"], edge["target"]} <= reached[place]


@pytest.mark.parametrize("name", SPECS)
def test_texts_fit_into_their_boxes(name: str) -> None:
    fonts = [Path("/usr/share/fonts/truetype/dejavu") / f"DejaVuSans{bold}.ttf" for bold in ("", "-Bold")]
    font_of = pytest.importorskip("PIL.ImageFont").truetype
    if not all(font.exists() for font in fonts):
        pytest.skip("needs the fonts DejaVu Sans")
    measures = [font_of(str(font), 100) for font in fonts]

    def width(line: Any) -> float:
        return float(measures[line["bold"]].getlength(line["text"])) * line["size"] / 100

    placed = layout_of(name, "TB")
    for node in placed["nodes"]:
        assert all(width(line) <= node["width"] - 8 for line in node["lines"]), node
        assert node["height"] >= sum(line["size"] + 2 for line in node["lines"])
    for group in placed["groups"]:
        assert all(width(text) <= text["width"] + 0.5 for text in group["texts"])
    for edge in placed["edges"]:
        if edge["label"]:
            assert width({"text": edge["label"]["text"], "bold": False, "size": 11}) <= edge["label"]["width"]


#: Names that end a text, begin markup or a comment, or turn the direction of text, in one of the formats.
NAMES = [
    '"]; subgraph x',
    "<img src=x onerror=alert(1)>",
    "</svg><script>alert(1)</script>",
    "</title><b>",
    "&lt;b&gt; &#60; #quot; #35;",
    "`**bold**` [a](javascript:alert(1))",
    "%% comment\n  click n0 callback",
    "\\ \\n \\N \\",
    "1. item",
    "- item",
    "end",
    "\x1b[31m\x00\u202e\u2028\ud800\ufffe",
    "${jndi} {{x}} -->|y| z;",
    "x" * 5000,
]


@cache
def hostile() -> netcalc.GraphReport:
    """A graph whose boxes have hostile names, as a foreign file may give them."""
    graph = netcalc.load("resnet34").graph(depth=2)
    names = itertools.cycle(NAMES)
    nodes = tuple(node._replace(name=next(names), path=next(names), op=next(names)) for node in graph.nodes)
    groups = tuple(group._replace(name=next(names), path=next(names), op=next(names)) for group in graph.groups)
    return replace(graph, nodes=nodes, groups=groups, spec="".join(NAMES[:8]))


def test_hostile_names_stay_text_in_a_picture(tmp_path: Path) -> None:
    svg = hostile().to_svg()
    root = ElementTree.fromstring(svg)  # well-formed
    kinds = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert kinds == {"svg", "title", "style", "rect", "g", "text", "path"}
    assert not any(name.startswith("on") or "href" in name for element in root.iter() for name in element.attrib)
    texts = [element.text or "" for element in root.iter() if element.tag.endswith("}text")]
    assert "<img src=x onerror=alert(1)>" in texts and '"]; subgraph x' in texts
    assert not re.search("[\x00-\x08\x1b\u202e\u2028\ufffe]", svg) and max(map(len, texts)) < 120
    hostile().plot(tmp_path / "hostile.html")
    page = (tmp_path / "hostile.html").read_text(encoding="utf-8")
    assert "<script" not in page and "<img" not in page and "<b>" not in page


def test_hostile_names_stay_text_in_mermaid() -> None:
    lines = hostile().to_mermaid().splitlines()
    tokens = (
        r"flowchart TB",
        r"n\d+(\(\[\"[^\"]*\"\]\)|\[\"[^\"]*\"\])",
        r"subgraph g\d+\[\"[^\"]*\"\]",
        "end",
        r"n\d+ (-->|-\.->)\|\"[^\"]*\"\| n\d+",
        r"classDef \w+ fill:#\w+,stroke:#\w+,color:#\w+",
        r"class [ng]\d+(,[ng]\d+)* \w+",
    )
    for line in lines:
        assert any(re.fullmatch(token, line.strip()) for token in tokens), line
        text = re.sub(r"<br>", "", "".join(re.findall(r"\"([^\"]*)\"", line)))
        assert not set(text) & set("<>&`*[]{}\\|$%;") - set(";" if "#" in text else ""), line
        assert not re.search(r"#(?!\d+;)", text), line
    assert sum(line.strip() == "end" for line in lines) == sum("subgraph" in line.split("[")[0] for line in lines)


@pytest.mark.parametrize("name", ["hostile", "resnet34", "gemma-3-4b", "t5-small", "inception_v3"])
def test_graphviz_reads_the_text(name: str, tmp_path: Path) -> None:
    program = shutil.which("dot")
    if program is None:
        pytest.skip("needs Graphviz")
    graph = hostile() if name == "hostile" else netcalc.load(name).graph()
    graph.plot(tmp_path / "graph.gv")
    ran = subprocess.run([program, "-Tjson", str(tmp_path / "graph.gv")], capture_output=True, timeout=60, check=True)
    assert ran.stderr == b""
    read = json.loads(ran.stdout)
    boxes = [each for each in read["objects"] if "nodes" not in each]
    clusters = [each for each in read["objects"] if each["name"].startswith("cluster")]
    assert {box["name"] for box in boxes} - {c["name"] for c in clusters} == {node.id for node in graph.nodes}
    assert len(clusters) == len(graph.groups) and len(read["edges"]) == len(graph.edges)


@pytest.mark.parametrize("name", ["resnet34", "t5-small", "gemma-3-4b", "unet"])
def test_the_script_closes_groups_as_the_library_does(name: str) -> None:
    network = netcalc.load(name)
    levels = network.graph(depth=1).levels
    opened = _record(network.graph(depth=levels))
    for depth in range(1, levels + 1):
        closed = [group["id"] for group in opened["groups"] if group["opened_at"] > depth]
        record = called("closed", opened, closed)
        expected = _record(network.graph(depth=depth))

        def boxes(graph: Any) -> list[tuple[Any, ...]]:
            return [(n["path"], n["op"], n["kind"], n["params"], n["macs"], n["times"]) for n in graph["nodes"]]

        def edges(graph: Any) -> set[tuple[Any, ...]]:
            path = {node["id"]: node["path"] for node in graph["nodes"]}
            return {(path[e["source"]], path[e["target"]], str(e["shape"]), e["back"]) for e in graph["edges"]}

        assert boxes(record) == boxes(expected) and edges(record) == edges(expected)
        assert [group["path"] for group in record["groups"]] == [group["path"] for group in expected["groups"]]
