"""Command ``reconcile --reported-memory``: forms of weights, caches and steps of training that have the bytes."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import netcalc as package
from netcalc.planning.reported import command_of
from netcalc.planning.reported_counts import FACTOR, Counted
from netcalc.planning.reported_memory import memory_candidates
from netcalc.planning.reported_number import reported_bytes
from tests.conftest import CommandResult
from tests.records.test_records import validated


@pytest.mark.parametrize(
    ("model", "printed", "choices"),
    [
        # accelerate, whose MB and GB are MiB and GiB: all buffers too, and 4 times that with Adam
        ("resnet50", "97.7 MB", {"weights and buffers", "a prefix of powers of 1024"}),
        ("bert-base-cased", "1.61GB", {"weights, gradients and states of adam", "a prefix of powers of 1024"}),
        # llama.cpp's table of files
        ("llama-3.1-8b", "7.95 GiB", {"stored as q8_0", "weights alone"}),
        # hf-mem's README and its issue 70; the paper on the hardware of DeepSeek-V3
        ("minimax-m2", "24,964,497,408 bytes", {"caches in fp8", "length=196608", "caches alone"}),
        ("gpt-oss-20b", "6.09GiB", {"length=8192", "batch=32", "caches alone"}),
        ("llama-3.1-405b", "516.096 KB", {"caches of a token"}),
    ],
)
def test_published_bytes_are_explained_by_the_number_alone(model: str, printed: str, choices: set[str]) -> None:
    found = package.load(model).reconcile_reported(reported_memory=printed)
    assert choices in [{*row.choices} for row in found.explanations] and len(found.explanations) <= 10
    number = reported_bytes(printed, "--reported-memory")
    for row in found.explanations:
        base = number.bases["a prefix of powers of 1024" in row.choices]
        low, high = number.interval(base)
        assert low <= row.value <= high


def _printed(command: str, netcalc: Callable[..., CommandResult]) -> set[int]:
    """Every number of bytes that a command prints, and the sums of them that explanations speak of."""
    record = json.loads(netcalc(*command.split()[1:], "--format", "json").out)
    stored = record["weights"] + record["buffers"]
    numbers = {record["weights"], stored, record["token_bytes"], record["ideal"]["peak"], record["eager"]["peak"]}
    numbers.add(stored + record["eager"]["peak"])
    for convention in record["conventions"]:
        numbers |= {convention["caches"], stored + convention["caches"], convention["total"]}
    if training := record["training"]:
        held = training["master"] + sum(state["bytes"] for state in training["states"])
        peak = training["peak"]
        whole = held + peak["gradients"] + peak["kept"] + peak["temporaries"]
        numbers |= {stored + whole, stored + held + training["gradients"], held, training["kept"]}
    return numbers


@pytest.mark.parametrize(("model", "settings"), [("resnet18", {}), ("gpt2", {"layers": 2, "vocab": 1000})])
def test_commands_print_the_bytes(model: str, settings: dict[str, int], netcalc: Callable[..., CommandResult]) -> None:
    """One value of every kind of choices."""
    request = package.load(model, set=settings).request
    kinds: dict[tuple[str, ...], Counted] = {}
    for counted in memory_candidates(request, {}, 3):
        kinds.setdefault(tuple(choice.partition("=")[0] for choice in counted.choices), counted)
    assert len(kinds) > 15
    for counted in [*kinds.values()][::4]:
        command = " ".join(command_of(request, counted))
        assert counted.base == counted.scaled // FACTOR and counted.base in _printed(command, netcalc), counted


def test_the_nearest_tells_what_is_left_over(netcalc: Callable[..., CommandResult]) -> None:
    """accelerate's 413.18 MB have two buffers of 512 ids in int64, 8 KiB, which its figure has and weights do not."""
    (found,) = package.load("bert-base-cased").reconcile_reported(reported_memory="413.18MB").explanations
    assert found.choices == ("Total Size of accelerate", "a prefix of powers of 1024")
    ran = netcalc("reconcile", "bert-base-cased", "--reported-memory", "413.1712MB", "--format", "json")
    record = validated(ran, "reconcile-reported", 1)
    assert record["explanations"] == [] and record["nearest"]["choices"] == [
        "weights alone",
        "a prefix of powers of 1024",
    ]
    assert abs(record["left_over"]) < 2 * 512 * 8


@pytest.mark.parametrize(
    ("text", "told"), [("16.1", "in which unit?"), ("1024", "in which unit?"), ("16.1GMAC", "bytes"), ("much", "bytes")]
)
def test_unclear_bytes_are_bad_input(text: str, told: str, netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("reconcile", "mlp", "--reported-memory", text)
    assert ran.code == 2 and told in ran.err and ran.out == ""
