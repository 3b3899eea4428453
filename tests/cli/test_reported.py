"""Command ``reconcile --reported``: choices that reproduce a number, or the nearest one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import netcalc as package
from netcalc.planning.reported_number import reported_number
from tests.analysis.test_tool_cells import MODELS, PRINTED
from tests.conftest import CommandResult
from tests.records.test_records import validated


def _work(command: str, netcalc: Callable[..., CommandResult]) -> int:
    """The FLOPs, or MACs under netcalc's own convention, that a command of an explanation prints."""
    program, *words = command.split()
    assert program == "netcalc"
    totals = json.loads(netcalc(*words, "--format", "json").out)["totals"]
    return int(totals["flops"])


@pytest.mark.parametrize("model", MODELS)
def test_cells_are_explained_by_the_number_alone(model: str) -> None:
    """Figures of eight tools; GPT-2 at 128 tokens, which the search has to find out where they matter."""
    network = package.load(model)  # its counts are kept from one cell to the next
    for tool, numbers in PRINTED.items():
        _assert_explained(network, numbers[list(MODELS).index(model)], tool, MODELS[model])


def test_a_cell_of_torchlens_is_explained_by_the_number_alone() -> None:
    """TorchLens 2.36 prints 17.56 GMAC of vit_b_16, and counts as torchvision does."""
    _assert_explained(package.load("vit_b_16"), "17.56", "torchvision", MODELS["vit_b_16"])


def _assert_explained(network: package.Network, number: str, convention: str, sizes: Mapping[str, int]) -> None:
    result = network.reconcile_reported(reported=f"{number}G")
    assert 1 <= len(result.explanations) <= 10, convention
    own = {f"convention {convention}", *(f"{name}={size}" for name, size in sizes.items())}
    own |= {"half of its FLOPs"} if convention == "torch-cpu" else set()
    chosen = [{*row.choices} for row in result.explanations]
    # every choice of the tool's run, or fewer where the others change no digit
    assert any(choices <= own and f"convention {convention}" in choices for choices in chosen), (convention, chosen)
    half = 0.5 * 10 ** -len(number.partition(".")[2])
    assert all(abs(row.value / 1e9 - float(number)) <= half for row in result.explanations), convention


def test_parameters_of_the_tools_are_explained() -> None:
    """thop leaves out nn.MultiheadAttention; torchinfo counts the tied head of GPT-2 twice."""
    (thop,) = package.load("vit_b_16").reconcile_reported(reported_params="58.07M").explanations
    assert "thop" in thop.choices[0] and 58_065_000 <= thop.value <= 58_075_000
    (own, *_) = package.load("vit_b_16").reconcile_reported(reported_params="86.57M").explanations
    assert own.choices == () and own.value == own.counted == 86_567_656
    (tied, *_) = package.load("gpt2").reconcile_reported(reported_params="163.0M").explanations
    assert tied.choices == ("tied parameters at each use",) and tied.value == 124_439_808 + 50257 * 768
    (head, *_) = package.load("gpt2").reconcile_reported(reported_params="38.6M").explanations
    assert head.choices == ("parameters as thop counts them",)


def test_commands_print_what_they_are_said_to(netcalc: Callable[..., CommandResult]) -> None:
    """A batch of 8 whose reported figure is that of ptflops, and half of the FLOPs of torch."""
    work = package.load("resnet18", set={"batch": 8}).cost("ptflops").flops
    result = package.load("resnet18").reconcile_reported(reported=f"{work} MAC")
    batch = next(row for row in result.explanations if row.choices == ("convention ptflops", "batch=8"))
    assert batch.value == batch.counted == work == _work(batch.command, netcalc)
    half = package.load("gpt2").reconcile_reported(reported="15.812G").explanations
    row = next(row for row in half if {"convention torch-cpu", "length=128"} <= {*row.choices})
    assert row.counted == 2 * row.value == _work(row.command, netcalc) and "half of its FLOPs" in row.arithmetic


def test_a_prefix_of_1024_is_found_out() -> None:
    macs = int(package.load("resnet50").macs)
    text = f"{macs / 1024**3:.4f}GMAC"
    choices = [row.choices for row in package.load("resnet50").reconcile_reported(reported=text).explanations]
    assert choices[0] == ("multiply-adds alone", "a prefix of powers of 1024")


def test_nothing_is_claimed_that_misses_a_digit(netcalc: Callable[..., CommandResult]) -> None:
    macs = int(package.load("vit_b_16").macs)
    near = macs + 1
    ran = netcalc("reconcile", "vit_b_16", "--reported", f"{near} MAC", "--format", "json")
    record = validated(ran, "reconcile-reported", 1)
    assert record["explanations"] == [] and record["nearest"]["value"] == macs and record["left_over"] == 1
    assert package.load("vit_b_16").reconcile_reported(reported=f"{macs} MAC").ok


def test_sizes_that_are_set_are_not_searched() -> None:
    result = package.load("gpt2", set={"length": 128, "past": 0, "batch": 1}).reconcile_reported(reported="16.114GMAC")
    assert result.explanations and not any("=" in c for row in result.explanations for c in row.choices)

    macs = package.load("gpt2").macs
    fixed = package.load("gpt2", set={"length": 128}).reconcile_reported(reported=f"{macs} MAC")
    assert package.load("gpt2").reconcile_reported(reported=f"{macs} MAC").ok and not fixed.ok


def test_values_are_those_of_a_count_at_their_sizes() -> None:
    """torchinfo counts the table of positions once for all of the batch, so that 8 times its figure is none."""
    figure = package.load("gpt2", set={"length": 128}).cost("torchinfo").flops
    network = package.load("gpt2")
    found = network.reconcile_reported(reported=f"{8 * figure} MAC").explanations
    assert not any("batch=8" in row.choices for row in found)
    own = package.load("gpt2", set={"length": 128, "batch": 8}).cost("torchinfo").flops
    found = network.reconcile_reported(reported=f"{own} MAC").explanations
    assert own != 8 * figure and any({"convention torchinfo", "batch=8"} <= {*row.choices} for row in found)


def test_few_digits_have_a_chance_of_an_explanation(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("reconcile", "vit_b_16", "--reported", "11G")
    assert ran.code == 0 and "% of drawn numbers" in " ".join(ran.out.split())
    assert "% of drawn numbers" not in " ".join(netcalc("reconcile", "vit_b_16", "--reported", "11.271G").out.split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--reported", "11.29"], "in which unit?"),
        (["--reported", "eleven"], "should be a number"),
        (["--reported-params", "1.5"], "in which unit?"),
        (["--reported", "11G", "--reported-params", "1M"], "one number"),
        (["--reported", "11G", "--to", "fvcore"], "two conventions"),
        (["--reported", "11G", "--symbolic", "batch"], "E404"),
    ],
)
def test_unclear_numbers_are_bad_input(words: list[str], told: str, netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("reconcile", "vit_b_16", *words)
    assert ran.code == 2 and told in ran.err and ran.out == ""


def test_numbers_are_read_with_the_place_of_their_last_digit() -> None:
    number = reported_number("0.173 GMACs", "--reported", units=True)
    assert [int(end) for end in number.interval(1000)] == [172_500_000, 173_500_000] and number.unit == "MAC"


def test_a_page_shows_explanations(
    netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    pages = [netcalc("reconcile", "gpt2", "--reported", number).out for number in ("15.82G", "12.345678GFLOP")]
    assert all(len(line) <= 80 for page in pages for line in page.splitlines())
    golden("reconcile/reported.txt", "\n".join(pages))


@pytest.mark.parametrize(
    ("model", "number", "seconds"),
    [
        ("vit_b_16", {"reported": "11.29G"}, 2),
        ("vit_b_16", {"reported_params": "58.07M"}, 2),
        ("vit_b_16", {"reported_memory": "330.2MB"}, 2),
        ("llama-3.1-405b", {"reported": "1.688386PFLOP"}, 5),
        ("llama-3.1-405b", {"reported_params": "405.85B"}, 5),
        ("llama-3.1-405b", {"reported_memory": "811.7GB"}, 5),
    ],
)
def test_the_search_is_quick(model: str, number: dict[str, Any], seconds: float) -> None:
    start = time.process_time()
    assert package.load(model).reconcile_reported(**number).ok
    assert time.process_time() - start < seconds
