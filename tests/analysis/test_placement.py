"""Bytes by place: sums over layers, of which every split is a partition."""

from __future__ import annotations

from typing import Any

import pytest

import netcalc
from netcalc.analysis.placement import most_gpu_layers, placed
from netcalc.planning.phases import request_in_phase
from netcalc.planning.placement import parts_of
from tests.formats.gguf.test_placement import assert_parts_add_up

NETWORKS: dict[str, dict[str, Any]] = {
    "llama-3.2-1b": {"length": 300},
    "gpt-oss-20b": {"past": 299, "length": 1},
    "deepseek-v3": {"length": 8},
    "jamba-v0.1": {"length": 8},
    "mamba-130m": {"length": 8},
    "gemma-3n-e2b": {"length": 8},
    "qwen3.5-0.8b-vision": {},
}


@pytest.mark.parametrize("name", NETWORKS)
def test_parts_add_up_to_the_whole_and_grow_by_layer(name: str) -> None:
    network = netcalc.load(name, set=NETWORKS[name])
    report = network.memory(cache=["ideal", "llama.cpp"])
    request, _ = request_in_phase(network.request, None, None)
    parts = parts_of(request, report)
    placements = [placed(parts, count) for count in range(len(parts.layers) + 2)]
    weights = [placement.device.weights for placement in placements]
    assert weights == sorted(weights) and placements[0].device.caches == {"ideal": 0, "llama.cpp": 0}
    for count in (0, 1, len(parts.layers) // 2, len(parts.layers) + 1):
        whole = network.memory(cache=["ideal", "llama.cpp"], gpu_layers=count)
        assert whole.placement == placements[count]
        assert_parts_add_up(whole)
    first, last = (placements[count].device.weights - placements[count - 1].device.weights for count in (2, 3))
    assert first == parts.layers[-1].weights + parts.layers[-1].experts
    assert last == parts.layers[-2].weights + parts.layers[-2].experts


def test_experts_stay_on_the_host() -> None:
    """DeepSeek-V3: 58 layers of 256 experts of 3 matrices of 7168 × 2048, in bfloat16."""
    placement = netcalc.load("deepseek-v3", set={"length": 8}).memory(experts_on="cpu").placement
    assert placement is not None and (placement.gpu_layers, placement.host_experts) == (62, 61)
    experts = 58 * 256 * 3 * 7168 * 2048 * 2
    assert placement.host.weights == experts + 129_280 * 7168 * 2  # and the embeddings
    assert placement.device.weights == 671_026_419_200 * 2 - placement.host.weights
    some = netcalc.load("deepseek-v3", set={"length": 8}).memory(experts_on="cpu:13").placement
    assert some is not None and some.host.weights == 10 * experts // 58 + 129_280 * 7168 * 2


def test_tied_embeddings_are_on_both_places() -> None:
    """Gemma 3 270M: 262,144 embeddings of 640 numbers in bfloat16."""
    whole, none = (netcalc.load("gemma-3-270m").memory(gpu_layers=count).placement for count in (1, 0))
    assert whole is not None and none is not None
    assert (whole.copied, none.copied) == (262_144 * 640 * 2, 0)
    assert whole.device.weights == whole.copied + 640 * 2  # and the last norm


def test_the_most_layers_of_a_budget() -> None:
    network = netcalc.load("llama-3-8b", set={"length": 8192})
    report = network.memory(cache="ideal", phase="decode")
    request, _ = request_in_phase(network.request, "decode", None)
    parts = parts_of(request, report)
    budget = 8 << 30
    count = most_gpu_layers(parts, budget, "ideal")
    assert count is not None and 0 < count < 33
    assert placed(parts, count).device.totals["ideal"] <= budget < placed(parts, count + 1).device.totals["ideal"]
    assert most_gpu_layers(parts, 1 << 40, "ideal") == 33 and most_gpu_layers(parts, -1, "ideal") is None


def test_a_draft_model_has_caches_of_the_same_positions() -> None:
    sizes = {"batch": 2, "length": 4096}
    placement = netcalc.load("llama-3.1-8b", set=sizes).memory(draft="llama-3.2-1b", phase="decode", cache="ideal")
    alone = netcalc.load("llama-3.2-1b", set=sizes).memory(phase="decode", cache="ideal")
    assert placement.placement is not None
    (draft,) = placement.placement.beside
    assert draft.total("ideal") == alone.total() and draft.caches == {"ideal": 2 * 4096 * alone.token_bytes}
    without = netcalc.load("llama-3.1-8b", set=sizes).memory(gpu_layers=33, phase="decode", cache="ideal").placement
    assert without is not None
    assert placement.placement.device.totals["ideal"] - without.device.totals["ideal"] == alone.total()


def test_networks_without_layers_to_place() -> None:
    for name, reason in (
        ("t5-small", "an encoder and a decoder"),
        ("resnet18", "no caches"),
        ("bert-base", "no caches"),
    ):
        with pytest.raises(netcalc.NetcalcError, match=reason):
            netcalc.load(name).memory(gpu_layers=1)
