"""Work of attention under masks in three ways, against mask matrices."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

import netcalc
from netcalc.cli import main
from netcalc.ops._attention_pattern import tiled_band, tiled_with_globals

Visible = Callable[[int, int], bool]


def in_tiles(queries: int, keys: int, visible: Visible, size: int) -> int:
    """Return the pairs in all tiles that have a visible one, by looking at each."""
    pairs = 0
    for top in range(0, queries, size):
        for left in range(0, keys, size):
            rows, columns = range(top, min(top + size, queries)), range(left, min(left + size, keys))
            if any(visible(i, j) for i in rows for j in columns):
                pairs += len(rows) * len(columns)
    return pairs


def test_tiles_are_those_of_drawn_masks() -> None:
    draw = random.Random(36)
    for _ in range(1_500):
        queries, keys, size = draw.randint(1, 13), draw.randint(1, 13), draw.randint(1, 5)
        shift = draw.choice([0, keys - queries])
        left, right = draw.choice([None, 0, 1, 2, 5]), draw.choice([None, 0, 1, 3])

        def near(i: int, j: int, left: int | None = left, right: int | None = right, shift: int = shift) -> bool:
            return (left is None or j - i - shift >= -left) and (right is None or j - i - shift <= right)

        expected = in_tiles(queries, keys, near, size)
        assert tiled_band(queries, keys, shift, left, right, size) == expected

        tokens, causal = draw.randint(1, 6), draw.random() < 0.5

        def joined(i: int, j: int, tokens: int = tokens, causal: bool = causal, shift: int = shift) -> bool:
            if causal and j > i + shift:
                return False
            return i + shift < tokens or j < tokens or near(i, j)

        found = tiled_with_globals(queries, keys, shift, (left, right), tokens, causal=causal, size=size)
        assert found == in_tiles(queries, keys, joined, size)


@pytest.mark.parametrize(
    ("model", "settings", "pairs", "of_a_pair", "visible"),
    [
        ("gpt2", {"length": 300}, (300, 300), 12 * 12 * 2 * 64, lambda i, j: j <= i),
        (
            "mistral-7b",
            {"length": 700, "layers": 2, "window": 200},
            (700, 700),
            2 * 32 * 2 * 128,
            lambda i, j: 0 <= i - j < 200,
        ),
    ],
)
def test_a_network_has_three_figures(
    model: str, settings: dict[str, int], pairs: tuple[int, int], of_a_pair: int, visible: Visible
) -> None:
    found = netcalc.load(model, set=settings).summary().masked_attention
    assert found is not None
    queries, keys = pairs
    assert found.full_rectangle == found.counted == queries * keys * of_a_pair
    assert found.kept == sum(visible(i, j) for i in range(queries) for j in range(keys)) * of_a_pair
    assert found.tiles == in_tiles(queries, keys, visible, 128) * of_a_pair


def test_a_report_names_the_figures_and_the_one_that_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flops", "gpt2", "--convention", "megatron", "--depth", "1"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "full rectangle 19.33 GMAC, kept by the masks 9.673 GMAC" in text
    assert "tiles of a block-sparse kernel 10.87 GMAC; counted: half of the full rectangle" in text
    assert main(["summary", "gpt2", "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)["masked_attention"]
    # 8 × 8 tiles of which 36 have a kept pair
    assert record["tiles"] * 64 == record["full_rectangle"] * 36 and record["counted"] == record["full_rectangle"]
    assert main(["flops", "bert-base", "--format", "json"]) == 0
    assert "masked_attention" not in json.loads(capsys.readouterr().out)
