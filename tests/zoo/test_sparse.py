"""Longformer and BigBird, whose attention is sparse."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from tests.zoo.harness import built, case_file, check_case

TINY = {"length": 32, "vocab": 90, "d_model": 32, "heads": 4, "d_ff": 64, "layers": 2, "max_length": 50}


@dataclass(frozen=True)
class Sizes:
    """Sizes of the attention of a Longformer; ``reach`` is half of its window."""

    length: int
    features: int
    layers: int
    reach: int

    def pairs(self, tokens: int) -> int:
        """Count, one by one, the pairs within reach and those with one of the first tokens."""
        place = np.arange(self.length)
        near = np.abs(place[:, None] - place) <= self.reach
        return int((near | (place < tokens)[:, None] | (place < tokens)).sum())

    def chunked(self, tokens: int) -> int:
        """Pairs that transformers computes, for the scores and for the values together.

        Scores in overlapping chunks of twice the reach, values for each chunk of the reach from three of them; then
        scores and values of the global tokens, which see and are seen.
        """
        chunks = self.length // self.reach
        return (chunks - 1) * (2 * self.reach) ** 2 + chunks * 3 * self.reach**2 + 4 * tokens * self.length

    def flops(self, macs: int) -> int:
        return 2 * macs * self.features * self.layers


def work(spec: str, **settings: int) -> tuple[int, int]:
    """FLOPs of the linear maps and of attention."""
    by_operation = Analysis(built(spec, **settings), CONVENTIONS["torch"]).by_operation
    linear, attention = (by_operation[op][1].flops for op in ("linear", "scaled_dot_product_attention"))
    return int(linear), int(attention)


def test_a_forward_pass_of_longformer_equals_transformers() -> None:
    """transformers marks global tokens by a mask, the spec by their number."""
    settings = {**TINY, "window": 8, "global_tokens": 1, "eps": 1e-12}
    unused: dict[str, str | None] = {"global_attention_mask": None}
    check_case("longformer_w8_global", "longformer-base-4096", settings, inputs=unused, same_work=False)


def test_work_of_the_recorded_forward_pass() -> None:
    """transformers computes chunks instead of pairs, and the queries of the global token twice."""
    linear, attention = work("longformer-base-4096", **TINY, window=8, global_tokens=1)
    sizes = Sizes(32, 32, 2, reach=4)
    assert attention == sizes.flops(2 * sizes.pairs(1))
    recorded = json.loads(case_file("longformer_w8_global").with_suffix(".json").read_text())["flops_torch"]["total"]
    assert linear + sizes.flops(32 * 1) + sizes.flops(sizes.chunked(1)) == recorded


@pytest.mark.parametrize(("length", "flops"), [(512, 99_053_862_912), (1024, 202_938_384_384), (4096, 826_245_513_216)])
def test_work_of_longformer_base(length: int, flops: int) -> None:
    """transformers 5.23.0 without global tokens, which omits their key and value projections as well."""
    linear, attention = work("longformer-base-4096", length=length)
    sizes = Sizes(length, 768, 12, reach=256)
    assert attention == sizes.flops(2 * sizes.pairs(1))
    maps = 2 * sizes.flops(length * 768)
    assert linear - maps + sizes.flops(sizes.chunked(0)) == flops
    assert int(Analysis(built("longformer-base-4096", length=length), CONVENTIONS["torch"]).total.params) == 148_659_456


def test_blocks_of_bigbird() -> None:
    """Of n blocks two attend to all, the two beside them to 7, the others to 8: 3 near, 2 global, 3 random."""
    for length in (1024, 4096):
        blocks = length // 64
        _, attention = work("bigbird-roberta-base", length=length)
        assert attention == 4 * 768 * 12 * 64**2 * (2 * blocks + 2 * 7 + (blocks - 4) * 8)
