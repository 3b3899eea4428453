"""Latent attention with the weights of kv_b_proj in the queries and outputs, instead of expanding every latent."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.analysis.walk import instances
from netcalc.dims import Dim
from netcalc.engine.run import PLANS, forward
from tests.zoo.harness import SMALL


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("spec", ["deepseek-v3", "deepseek-v2-lite"])
def test_outputs_are_those_of_expanded_latents(spec: str, plan: str) -> None:
    loaded = partial(netcalc.load, spec, dtype="float32")
    expanded, absorbed = (loaded(set={**SMALL[spec], "absorbed": way}).program for way in (False, True))
    expected = forward(expanded, plan=plan).outputs["logits"]
    found = forward(absorbed, plan=plan).outputs["logits"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_parameters_have_the_same_paths_and_shapes() -> None:
    def stored(absorbed: bool) -> dict[str, tuple[Dim, ...]]:
        program = netcalc.load("deepseek-v3", set={**SMALL["deepseek-v3"], "absorbed": absorbed}).program
        return {i.owners[param.name]: param.shape for i in instances(program) for param in i.node.params}

    assert stored(True) == stored(False)


@pytest.mark.parametrize("options", [{"quantize": ["int4-g32"]}, {"quantize": ["q4_k_m"]}, {"lora": 4}])
def test_parameters_are_stored_and_adapted_alike(options: dict[str, Any]) -> None:
    sizes = {"kv_rank": 64, "layers": 4}

    def figures(absorbed: bool) -> tuple[Dim, ...]:
        network = netcalc.load("deepseek-v2-lite", set={**sizes, "absorbed": absorbed, "past": 4}, **options)
        cost = network.cost()
        return cost.params, cost.params_trainable, cost.weight_bytes

    assert figures(True) == figures(False)


def test_adapters_act_alike() -> None:
    expected, outputs = (
        netcalc.load("deepseek-v3", set={**SMALL["deepseek-v3"], "absorbed": way}, lora={"*.kv_b_proj": 3})
        .run(init="*lora_B.weight=normal(std=0.5)", seed=1)
        .outputs["logits"]
        for way in (False, True)
    )
    plain = netcalc.load("deepseek-v3", set=SMALL["deepseek-v3"]).run(seed=1).outputs["logits"]
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert np.abs(plain - expected).max() > 1e-3 * np.abs(expected).max()


def test_a_token_does_not_expand_the_past() -> None:
    """DeepSeek-AI 2024, arXiv:2405.04434, section 2.1.2.

    A position of the past costs each layer the expansion of a latent of 512 to keys and values of 128 features for 128
    heads, and their scores and sums; or the scores and sums of the latents themselves.
    """

    def macs_of_a_position(**absorbed: bool) -> int:
        networks = (netcalc.load("deepseek-v3", set=absorbed).at_step(past, 1) for past in (4096, 4097))
        first, second = (network.macs for network in networks)
        return (second - first) // 61

    assert macs_of_a_position(absorbed=False) == 512 * 128 * (128 + 128) + 128 * (128 + 64 + 128)
    assert macs_of_a_position() == macs_of_a_position(absorbed=True) == 128 * (512 + 64 + 512)


def test_the_first_pass_expands_and_later_ones_do_not() -> None:
    for past, absorbed in [(0, False), (1, True), (8191, True)]:
        network = netcalc.load("deepseek-v3", set={"past": past, "length": 1})
        assert network.flops == netcalc.load("deepseek-v3", set={"past": past, "length": 1, "absorbed": absorbed}).flops
        assert network.summary().notes[-1].startswith(f"absorbed={str(absorbed).lower()}:")


def test_formulas_in_the_past_are_the_figures_of_steps() -> None:
    symbolic = netcalc.load("deepseek-v2-lite", symbolic=["past"], set={"length": 1})
    for past in (1, 4, 4097):
        assert (
            symbolic.specialize(past=past).flops
            == netcalc.load("deepseek-v2-lite", set={"past": past, "length": 1}).flops
        )
