"""Weights and masks of attention in traces, heat maps and histograms of traced tensors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import netcalc as package
from netcalc.render.plot import HeatMap
from netcalc.render.plot.heat_map import cells, limits, map_text
from netcalc.render.plot.svg import chart_svg
from tests.conftest import CommandResult
from tests.png import decoded, require_png

Run = Callable[..., CommandResult]
ATTENTION = """
netcalc: 1
dims: {length: 3, width: 2}
inputs:
  query: [length, width]
  key: [length, width]
  value: [length, width]
  padding: {shape: [length], dtype: bool, default: false}
layers:
  - {name: attention, from: {query: query, key: key, value: value, key_padding_mask: padding},
     scaled_dot_product_attention: {causal: true}}
"""
GIVEN = ["-i", "query=[[1,0],[0,1],[1,1]]", "-i", "key=[[1,0],[0,1],[1,1]]", "-i", "value=[[1,2],[3,4],[5,6]]"]
SMALL = {"layers": 2, "d_model": 32, "heads": 2, "vocab": 50, "max_length": 64, "length": 8}


@pytest.fixture(autouse=True)
def working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("attention.yaml").write_text(ATTENTION, encoding="utf-8")


def traced(network: Any, *patterns: str, **options: Any) -> dict[str, np.ndarray[Any, Any]]:
    return {row.path: row.array for row in network.run(trace=patterns, keep=True, **options).trace}


def test_weights_by_hand(netcalc: Run, golden: Callable[[str, str], None]) -> None:
    """Scores over √2, without the keys that come later: e^0.7071/(1 + e^0.7071) = 0.669762."""
    ran = netcalc("run", "attention.yaml", *GIVEN, "--trace", "*.weights", "--trace", "*.mask", "--charts")
    golden("runs/attention-map.txt", ran.out)
    words = ("--trace", "attention.weights", "--trace", "attention.mask", "--format", "json")
    rows = {
        row["path"]: row["values"] for row in json.loads(netcalc("run", "attention.yaml", *GIVEN, *words).out)["trace"]
    }
    expected = [[1.0, 0.0, 0.0], [0.330238, 0.669762, 0.0], [0.248255, 0.248255, 0.503490]]
    assert np.allclose(rows["attention.weights"], expected, atol=1e-6)
    assert rows["attention.mask"] == [[True, False, False], [True, True, False], [True, True, True]]
    padded = traced(package.load("attention.yaml"), "*.mask", inputs={"padding": [False, True, False]})
    assert padded["attention.mask"].tolist() == [[True, False, False], [True, False, False], [True, False, True]]


MODELS = {
    "gpt2": SMALL,
    "llama-3.1-8b": {**SMALL, "kv_heads": 1, "d_ff": 48},
    "mistral-7b": {**SMALL, "kv_heads": 1, "d_ff": 48},
    "bert-base-uncased": SMALL,
    "t5-small": {
        "encoder_layers": 1,
        "decoder_layers": 1,
        "d_model": 32,
        "heads": 2,
        "vocab": 50,
        "source": 6,
        "target": 5,
    },
    "vit_b_16": {"layers": 1, "d_model": 32, "heads": 2, "height": 32, "width": 32},
    "bigbird-roberta-base": {"layers": 1, "d_model": 32, "heads": 2, "vocab": 50, "length": 512, "max_length": 520},
}


@pytest.mark.parametrize("name", MODELS)
def test_any_attention_tells_its_weights(name: str) -> None:
    """Weights of a query add up to 1 and lie where the mask lets it see; the output is their mean of the values."""
    available = package.describe(name)
    settings = {
        key: value for key, value in MODELS[name].items() if key in {*package.load(name).dims, *package.load(name).vars}
    }
    assert available
    arrays = traced(package.load(name, set=settings), "*.weights", "*.mask")
    weights = {path: array for path, array in arrays.items() if path.endswith(".weights")}
    assert weights
    for path, array in weights.items():
        assert np.allclose(array.sum(axis=-1), 1, atol=1e-5), path
        mask = arrays[path.removesuffix("weights") + "mask"]
        assert np.array_equal(np.broadcast_to(mask, array.shape), array > 0), path


def test_a_star_traces_layers_alone() -> None:
    network = package.load("attention.yaml")
    assert set(traced(network, "*")) == {"attention"}
    table = package.load("gpt2", set=SMALL)
    assert set(traced(table, "transformer.wpe.weight")) == {"transformer.wpe.weight"}
    assert traced(table, "transformer.wpe.weight")["transformer.wpe.weight"].shape[1] == 32


def test_positional_encodings() -> None:
    """sin(p/10000^(2i/d)) and cos, as Vaswani et al. write them."""
    table = traced(package.load("transformer", set={"d_model": 8, "heads": 2, "encoder_layers": 1, "decoder_layers": 1,
        "d_ff": 8, "vocab": 9, "source": 4, "target": 4, "max_length": 6}), "pos.pe")["pos.pe"]  # fmt: skip
    expected = [[f(p / 10000 ** (2 * i / 8)) for i in range(4) for f in (np.sin, np.cos)] for p in range(6)]
    assert np.allclose(table, expected, atol=1e-6)


def test_a_map_is_drawn(netcalc: Run) -> None:
    ran = netcalc("run", "attention.yaml", *GIVEN, "--trace", "attention.weights", "--plot", "map.svg")
    assert ran.code == 0 and "█" not in ran.out
    root = ElementTree.parse("map.svg").getroot()
    rectangles = [element.attrib for element in root.iter() if element.tag.endswith("rect") and element.get("fill")]
    drawn = [r for r in rectangles if float(r["x"]) < 560]  # without the scale
    # rows of 1, then white; of two shades and white; of two equal cells, which are one rectangle, and another
    assert [round(float(r["width"])) for r in drawn] == [160, 320, 160, 160, 160, 320, 160]
    assert drawn[0]["fill"] == "#084594" and drawn[1]["fill"] == "#ffffff"
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert texts[0] == "attention.weights" and {"keys", "queries", "0", "1", "2", "0.5"} <= set(texts)


def test_a_picture_in_png(netcalc: Run) -> None:
    require_png()
    assert netcalc("run", "attention.yaml", *GIVEN, "--trace", "attention.weights", "--plot", "map.png").code == 0
    picture = decoded(Path("map.png").read_bytes())
    assert picture.at(300, 200) == (8, 69, 148) and picture.at(900, 200) == (255, 255, 255)


def test_large_matrices_are_averaged() -> None:
    matrix = np.arange(16.0).reshape(4, 4)
    chart = HeatMap("m", "x", "y", matrix.tolist())
    assert cells(chart, 2, 4) == [[2, 3, 4, 5], [10, 11, 12, 13]]
    assert cells(chart, 4, 2) == [[0.5, 2.5], [4.5, 6.5], [8.5, 10.5], [12.5, 14.5]]
    assert limits(chart) == (0, 15) and limits(chart._replace(values=[[-3.0, 1.0]])) == (-3, 3)
    large = chart._replace(values=np.ones((300, 500)).tolist())
    assert all(len(line) <= 80 for line in map_text(large)) and len(list(map_text(large))) < 40
    assert chart_svg(large).count("<rect") < 200


def test_what_is_not_finite_has_a_mark() -> None:
    infinite = [[float("nan"), float("-inf"), -1.0, 0.0, 1.0]]
    lines = list(map_text(HeatMap("m", "", "", infinite)))
    assert lines[1] == "0 │······###   ███│"
    assert "#c8c8c8" in chart_svg(HeatMap("m", "", "", infinite))
    assert "<rect" in chart_svg(HeatMap("m", "", "", [[float("nan")]]))


def test_histograms(netcalc: Run) -> None:
    words = ["run", "mlp", "--set", "batch=4", "--histogram", "--trace", "hidden.0.*"]
    record = json.loads(netcalc(*words, "--format", "json").out)["trace"]
    arrays = traced(package.load("mlp", set={"batch": 4}), "hidden.0.*")
    for row in record:
        edges, counts = row["histogram"]["edges"], row["histogram"]["counts"]
        array = arrays[row["path"]]
        assert (len(edges), sum(counts)) == (len(counts) + 1, array.size)
        inside = [np.count_nonzero((array >= low) & (array < high)) for low, high in pairwise(edges)]
        assert sum(abs(a - b) for a, b in zip(inside, counts, strict=True)) <= 1 + np.count_nonzero(
            array == array.max()
        )
    page = netcalc(*words, "--charts", "--plot", "bars.svg").out
    assert "distribution of hidden.0.1" in page and len(page.splitlines()[-1]) <= 80
    assert len(re.findall("<title>distribution of", Path("bars.svg").read_text())) == len(record)
    everything = json.loads(netcalc("run", "mlp", "--histogram", "--format", "json").out)["trace"]
    assert len(everything) > len(record) and all(row["histogram"]["counts"] for row in everything)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--plot", "a.svg"], "--plot draws traced tensors"),
        (["--charts"], "--charts draws traced tensors"),
        (["--trace", "attention", "--plot", "a.txt"], ".txt files are not written here"),
        (["--backward", "--histogram"], "--backward and --histogram do not go together"),
        (["--trace", "attention.weight"], "did you mean 'attention.weights'?"),
        (["--profile", "--histogram"], "a trace was asked for"),
    ],
)
def test_what_cannot_be_drawn(words: list[str], message: str, netcalc: Run) -> None:
    ran = netcalc("run", "attention.yaml", *words)
    assert ran.code == 2 and message in ran.err
