"""Working behind the figures of the memory of a network."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import netcalc as package
from netcalc import Explanation
from netcalc.analysis.explain import Section
from tests.conftest import CommandResult

STEP = {"past": 600, "length": 1}
SPECS = {
    "gpt-neo-125m": STEP,
    "llama-3-8b": STEP,
    "qwen3-30b-a3b": STEP,
    "deepseek-v3": STEP,
    "gemma-3-1b": STEP,
    "mamba-130m": STEP,
    "resnet50": {},
    "t5-small": {"past": 600, "target": 1},
}


def section(explanation: Explanation, title: str) -> Section:
    return next(one for one in explanation.sections if one.title == title)


def product(substituted: str) -> int:
    """Return the value of sums of products, as a reader would compute it."""
    total = 0
    for term in substituted.replace(",", "").split(" + "):
        factors = [int(factor) for factor in term.split("·")]
        value = 1
        for factor in factors:
            value *= factor
        total += value
    return total


@pytest.mark.parametrize("name", SPECS)
def test_every_product_and_sum_gives_its_value(name: str) -> None:
    net = package.load(name, set=SPECS[name])
    explanation, report = net.explain(memory=True), net.memory()
    for one in explanation.sections:
        assert one.title in ("buffers", "total", "cells of caches and states") or one.rule
        for step in one.steps:
            if re.fullmatch(r"[0-9,]+([·+ ]+[0-9,]+)*", step.substituted):
                assert product(step.substituted) == step.value, (one.title, step)
    for title, whole in (
        ("activations, ideal", report.ideal),
        ("activations, eager", report.eager),
    ):
        *parts, last = section(explanation, title).steps
        assert whole is not None and sum(part.value for part in parts) == last.value == whole.peak
    assert section(explanation, "total").steps[0].value == report.total()


def test_a_cache_of_a_window_opens_down_to_its_cells() -> None:
    explanation = package.load("gpt-neo-125m", set=STEP).explain(memory=True)
    cells = section(explanation, "cells of caches and states").steps
    assert [(step.substituted, step.value) for step in cells] == [
        ("600 + 1", 601),
        ("2·12·64·4", 6144),
        ("2·12·64·4", 6144),
        ("6·6,144 + 6·6,144", 73_728),
    ]
    steps = {step.label: step for step in section(explanation, "caches and states, ideal").steps}
    window = steps["past_key_values.1,3,…,11: cells"]
    assert (window.formula, window.substituted, window.value) == ("min(positions, window)", "min(601, 256)", 256)
    paged = section(explanation, "caches and states, vllm")
    assert (paged.steps[0].substituted, paged.steps[0].value) == ("16·⌈601/16⌉", 608)
    assert "2309.06180" in paged.rule


def test_quantized_weights_open_to_their_tensors() -> None:
    net = package.load("llama-3-8b", set={"length": 1}, dtype="bfloat16").quantized("int4-g128")
    stored = section(net.explain(memory=True), "weights, int4-g128")
    sizes = {step.label: step.value for step in stored.steps}
    layers = 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336)
    assert sizes["bytes of values"] == layers // 2
    assert sizes["bytes of scales"] == layers // 128 * 2
    assert "compressed-tensors" in stored.rule


def test_the_command_prints_it(netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]) -> None:
    ran = netcalc("explain", "gpt-neo-125m", "--memory", "--set", "past=600", "--set", "length=1")
    assert (ran.code, ran.err) == (0, "")
    golden("memory/explain.txt", ran.out)
    assert netcalc("explain", "gpt2", "lm_head", "--memory").code == 2
    assert netcalc("explain", "gpt2", "--memory", "--backward").code == 2
    with pytest.raises(package.NetcalcError, match="whole forward pass"):
        package.load("gpt2").explain("lm_head", memory=True)
