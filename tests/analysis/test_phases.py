"""Memory by phase: sizes of prefill and step, the logits that they compute, tokens that fit with the activations."""

from __future__ import annotations

from typing import Any

import pytest

import netcalc
from netcalc.analysis.memory_report import MemoryReport

LLAMA: dict[str, Any] = {"batch": 8, "length": 8192}


def held(report: MemoryReport) -> int:
    total = report.total("ideal")
    assert isinstance(total, int)
    return total


def memory(name: str, settings: dict[str, Any], **options: Any) -> MemoryReport:
    return netcalc.load(name, set=settings).memory(cache="ideal", **options)


def test_servers_compute_the_logits_of_the_last_position() -> None:
    every, last = (memory("llama-3-8b", LLAMA, phase="prefill", logits=of) for of in ("all", "last"))
    # 8 sequences of 8,192 positions, each of 128,256 numbers of 2 bytes, against 8 positions
    assert (every.outputs["logits"].shape, last.outputs["logits"].shape) == ((8, 8192, 128256), (8, 1, 128256))
    assert every.ideal is not None and every.ideal.peak >= 8 * 8192 * 128256 * 2
    assert last.ideal is not None and last.ideal.peak < 6 * 2**30
    assert memory("llama-3-8b", LLAMA, phase="prefill") == last


def test_a_setting_of_the_user_stays() -> None:
    report = memory("gpt2", {"length": 16, "logits": "all"}, phase="prefill")
    assert report.outputs["logits"].shape == (1, 16, 50257)


def test_a_phase_has_the_positions_of_the_sizes() -> None:
    for settings in ({"past": 600, "length": 1}, {"length": 601}, {"past": 590, "length": 11}):
        decode, prefill = (memory("gpt2", settings, phase=phase) for phase in ("decode", "prefill"))
        assert (decode.past, decode.new, prefill.past, prefill.new) == (600, 1, 0, 601)
        assert decode.caches() == prefill.caches()


@pytest.mark.parametrize("phase", ["prefill", "decode"])
@pytest.mark.parametrize("name", ["llama-3.2-1b", "gemma-3-270m", "gpt-neo-125m"])
@pytest.mark.parametrize("budget", [3 * 2**30 + 12_345, 3 * 2**30 + 7_654_321])
def test_one_token_more_does_not_fit(phase: str, name: str, budget: int) -> None:
    report = memory(name, {"length": 64}, phase=phase, tokens_in=budget)
    assert report.tokens_in is not None
    tokens = report.tokens_in.tokens["ideal"]
    assert tokens is not None and tokens > 0
    assert held(memory(name, {"length": tokens}, phase=phase)) <= budget
    try:
        assert held(memory(name, {"length": tokens + 1}, phase=phase)) > budget
    except netcalc.NetcalcError as error:  # positions that are learned end
        assert name == "gpt-neo-125m"
        assert "2048" in str(error) or "max_length" in str(error)


def test_budgets_without_an_edge() -> None:
    states = memory("mamba-130m", {"length": 1}, phase="decode", tokens_in="1GiB").tokens_in
    assert states is not None and states.tokens["ideal"] is None
    small = memory("llama-3-8b", {"length": 1}, phase="decode", tokens_in="1GiB").tokens_in
    assert small is not None and small.tokens["ideal"] == -1


@pytest.mark.parametrize(("settings", "phase"), [({"length": 600}, "prefill"), ({"past": 599, "length": 1}, "decode")])
def test_a_budget_speaks_of_the_phase_of_the_sizes(settings: dict[str, Any], phase: str) -> None:
    """The page with the tokens that fit counts the same activations: at the edge it is within the budget."""
    report = memory("gemma-3-270m", settings, tokens_in="700MiB")
    assert report.phase == phase and f"--phase {phase} is assumed" in " ".join(report.notes)
    named = memory("gemma-3-270m", settings, phase=phase, tokens_in="700MiB")
    assert (report.tokens_in, report.total()) == (named.tokens_in, named.total())
    assert report.tokens_in is not None and report.tokens_in.ends == {}


def test_the_end_of_learned_positions_is_named() -> None:
    """GPT-2 has 1,024 positions, and 24 GiB are room for many more."""
    fitting = memory("gpt2", {"length": 16}, tokens_in="24GiB").tokens_in
    assert fitting is not None and fitting.tokens == {"ideal": 1024}
    assert "1024 positions of the table" in fitting.ends["ideal"]
    within = memory("gpt2", {"length": 16}, tokens_in="520MiB").tokens_in
    assert within is not None and (within.tokens["ideal"] or 0) < 1024 and within.ends == {}
