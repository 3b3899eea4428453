"""Closed forms of memory: the Python text of each against the memory that is counted at drawn settings."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from time import process_time
from typing import Any

import pytest

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.dims import symbol
from netcalc.dims.valued import Valued, comparing_values, form_of, largest, valued
from tests.conftest import CommandResult

#: Specs with symbols, options of ``memory``, and sizes that are drawn for each symbol.
CASES: dict[str, tuple[str, dict[str, Any], dict[str, list[int]]]] = {
    "transformer": ("gpt2", {}, {"layers": [1, 2, 5], "d_model": [96, 768, 12288], "length": [1, 7, 1024]}),
    "images": ("resnet18", {}, {"batch": [1, 2, 32], "classes": [2, 10**8]}),
    "patches": ("vit_b_16", {}, {"layers": [1, 3], "d_model": [12, 768], "height": [16, 224, 1024]}),
    "caches": (
        "llama-3-8b",
        {"cache": ["ideal", "vllm"], "attention": "flash"},
        {"d_model": [256, 4096], "d_ff": [64, 14336], "past": [0, 33], "length": [1, 100]},
    ),
    "turns": ("gemma-2-2b", {"attention": "eager"}, {"layers": [2, 5, 8], "d_ff": [128, 90000]}),
    "recurrent": ("gru", {}, {"hidden": [1, 300], "length": [1, 64], "batch": [1, 5]}),
}


@pytest.mark.parametrize("case", CASES)
def test_formulas_have_the_bytes_that_are_counted(case: str) -> None:
    name, options, sizes = CASES[case]
    random, net = Random(case), netcalc.load(name, symbolic=list(sizes))
    report, functions = net.memory(**options), dict[str, Any]()
    exec(net.memory_formulas(formula="python", **options).to_text(), functions)
    claims = [claim for peak in report.peaks for claim in peak.claims]
    assert {peak.execution for peak in report.peaks} == {"ideal", "eager"}
    tried = 0
    for _ in range(12):
        at = {symbol: random.choice(values) for symbol, values in sizes.items()}
        if not all(claim.holds(at) for claim in claims):
            continue
        counted = netcalc.load(name, set=at | ({"use_cache": False} if "layers" in at and name != "vit_b_16" else {}))
        memory, tried = counted.memory(**options), tried + 1
        expected = {
            "weights": memory.weights,
            "activations_ideal": memory.peak("ideal"),
            "activations_eager": memory.peak("eager"),
        }
        if memory.kept:
            expected |= {f"caches_{rule}": memory.caches(rule) for rule in options["cache"]}
            expected |= {f"total_{rule}": memory.total(rule) for rule in options["cache"]}
        else:
            expected["total"] = memory.total()
        for figure, size in expected.items():
            found = functions[figure](**at) if figure in functions else getattr(report, figure)
            assert found == size, (figure, at)
    assert tried >= 4


def test_the_peak_is_where_the_default_has_it_and_at_other_sizes_elsewhere() -> None:
    """The logits are the most of GPT-2 as published, and from 6,288 features on the feed-forward network."""
    (ideal, _) = netcalc.load("gpt2", symbolic=["d_model"]).memory().peaks
    assert [moment.at for moment in ideal.moments] == ["lm_head", "transformer.h.0.mlp.gelu"]
    logits, hidden = 1024 * 50257 * 4, 1024 * 4
    assert str(ideal.peak) == f"max({9 * hidden}*d_model, {hidden}*d_model + {logits})"
    for width, at in ((6276, "lm_head"), (6288, "transformer.h.0.mlp.gelu")):
        counted = netcalc.load("gpt2", set={"d_model": width, "use_cache": False}).memory().ideal
        assert counted is not None and counted.at == at and logits // (8 * hidden) == 6282


def test_a_peak_of_many_moments_is_found_soon() -> None:
    """U-Net crops what it joins, so that live bytes are minima of quotients of the height, inside each other."""
    net = netcalc.load("unet", symbolic=["height"])
    before = process_time()
    (ideal, *_) = net.memory().peaks
    assert process_time() - before < 20
    for height in (572, 588, 700):
        sizes = {"height": height}
        assert all(claim.holds(sizes) for claim in (*net.program.assumptions, *ideal.claims))
        counted = netcalc.load("unet", set=sizes).memory().ideal
        assert counted is not None and netcalc.dims.value_at(ideal.peak, sizes) == counted.peak


def test_formulas_on_the_command_line(netcalc: Callable[..., CommandResult]) -> None:
    page = netcalc("memory", "resnet18", "--symbolic", "batch").out
    assert "activations, ideal = 6,422,528·batch B" in page and "needs numbers" not in page
    text = netcalc("memory", "resnet18", "--symbolic", "batch", "--formula", "text").out
    assert text.splitlines()[-1] == "total = 6,422,528·batch + 46,796,608 B"
    refused = netcalc("memory", "gpt2", "--formula", "text", "--over", "batch=1")
    assert refused.code == 2 and "--formula has symbols" in refused.err


@pytest.mark.parametrize(("name", "symbols"), [("gpt2", ["layers"]), ("resnet18", ["batch"]), ("resnet18", [])])
def test_a_convention_of_caches_is_no_matter_where_none_are_kept(name: str, symbols: list[str]) -> None:
    net = netcalc.load(name, symbolic=symbols)
    report = net.memory(cache="vllm")
    assert not report.kept and report.total() == net.memory().total()
    assert str(report)


def test_memory_without_symbols_has_no_formulas() -> None:
    with pytest.raises(NetcalcError, match="the memory of resnet18 has no symbols"):
        netcalc.load("resnet18").memory_formulas()


def test_numbers_with_formulas() -> None:
    n, m = valued(symbol("n", default=4)), valued(symbol("m", default=1))
    assert isinstance(n, Valued) and (int(n * 3 // 2), str(form_of(n * 3 // 2))) == (6, "n + n//2")
    assert str(form_of(largest(2 * n, n + 3, 1))) == "max(2*n, n + 3)" and int(largest(2 * n, n + 3)) == 8
    assert n - n == 0 and type(n - n) is int
    assert m != 1 and n == 0 + n  # a size of 1 may be another one
    with comparing_values(lambda size: size, by_value=True):
        assert m == 1


#: Specs with symbols, options of a step of training, and sizes that are drawn for each symbol.
STEPS: dict[str, tuple[str, dict[str, Any], dict[str, list[int]]]] = {
    "transformer": (
        "gpt2",
        {"training": "adamw"},
        {"layers": [4, 5, 12, 24], "d_model": [48, 768, 6144], "length": [16, 1024]},
    ),
    "mixed": (
        "bert-base",
        {"training": "adam", "precision": "bf16-mixed", "attention": "flash"},
        {"layers": [6, 20], "batch": [1, 2, 8]},
    ),
    "recomputed": ("vit_b_16", {"training": "sgd", "recompute": "full"}, {"layers": [7, 30], "batch": [1, 3, 64]}),
    "images": ("resnet18", {"training": "momentum"}, {"batch": [1, 2, 32], "classes": [2, 10**6]}),
    "accumulated": (
        "gpt2",
        {"training": "adam", "accumulate": 4, "micro_batch": 2},
        {"layers": [5, 13], "d_model": [48, 1536]},
    ),
}


@pytest.mark.parametrize("case", STEPS)
def test_formulas_of_a_step_of_training_have_the_bytes_that_are_counted(case: str) -> None:
    name, options, sizes = STEPS[case]
    random, net = Random(case), netcalc.load(name, symbolic=list(sizes))
    report, functions = net.memory(**options), dict[str, Any]()
    exec(net.memory_formulas(formula="python", **options).to_text(), functions)
    assert report.step is not None and report.training is None
    tried = 0
    for _ in range(12):
        at = {symbol: random.choice(values) for symbol, values in sizes.items()}
        if not all(claim.holds(at) for claim in (*report.step.claims, *report.assumptions)):
            continue
        memory, tried = netcalc.load(name, set=at).memory(**options), tried + 1
        step = memory.training
        assert step is not None
        expected = {
            "weights": memory.weights,
            "gradients": step.gradients,
            "master": step.master,
            "states": step.state_bytes,
            "kept": step.kept,
            "peak_of_step": step.peak.total,
            "total": memory.trained,
        }
        for figure, size in expected.items():
            if figure in functions:
                assert functions[figure](**_named(functions[figure], at)) == size, (figure, at)
    assert tried >= 4


def _named(function: Callable[..., int], at: dict[str, int]) -> dict[str, int]:
    return {name: size for name, size in at.items() if name in function.__annotations__}


@pytest.mark.parametrize(
    ("name", "symbol", "options", "line"),
    [
        ("gemma-2-2b", "layers", {}, "layers:"),  # local and global layers take turns, in an order that no number gives
        ("gpt2", "layers", {"recompute": "every:5"}, "layers:"),  # of which 12 layers are no multiple
        ("gpt2", "layers", {"tp": 2}, "layers:"),
        ("gpt2", "batch", {"micro_batch": 1}, "batch:"),
    ],
)
def test_a_step_of_training_without_formulas_names_the_line(
    name: str, symbol: str, options: dict[str, Any], line: str
) -> None:
    with pytest.raises(NetcalcError) as caught:
        netcalc.load(name, symbolic=[symbol]).memory(training="adam", **options)
    (problem,) = caught.value.diagnostics
    assert problem.code == "E404" and problem.span is not None and f"{symbol} is a symbol" in problem.message


def test_a_page_of_a_step_of_training(netcalc: Callable[..., CommandResult], golden: Callable[..., None]) -> None:
    words = ["memory", "gpt2", "--symbolic", "layers", "--symbolic", "d_model", "--training", "adam"]
    golden("memory/gpt2_symbolic_step.txt", netcalc(*words).out)
