"""Command ``reconcile --reported``: sizes of any dim, backward passes, conventions of one's own, parts of a network."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import netcalc as package
from netcalc.analysis.reported import Diagnosis
from tests.conftest import CommandResult

#: A small causal language model, whose head is tied.
SMALL = {"layers": 2, "vocab": 1000, "d_model": 64, "heads": 4, "d_ff": 256}


def _chosen(found: Diagnosis) -> list[set[str]]:
    return [{*row.choices} for row in found.explanations]


def test_flops_of_nanogpt_are_those_of_palm_with_the_backward_pass() -> None:
    """transformer_sizing.ipynb of nanoGPT prints palm_flops 875,062,886,400 for GPT-2 without biases."""
    network = package.load("gpt2", set={"bias": False})
    (first, *_) = network.reconcile_reported(reported="875062886400 FLOP").explanations
    assert first.choices == ("convention palm", "with the backward pass") and first.counted == 875_062_886_400
    assert first.command == "netcalc flops gpt2 --convention palm --backward --set bias=False"


def test_a_step_with_recomputation_is_that_of_narayanan() -> None:
    """96·B·s·l·h²·(1 + s/(6h) + V/(16·l·h)), arXiv:2104.04473, Eq. 3, for GPT-2 at a batch of 16."""
    b, s, l, h, v = 16, 1024, 12, 768, 50257  # noqa: E741
    flops = 96 * b * s * l * h**2 + 16 * b * s**2 * l * h + 6 * b * s * v * h
    (first, *_) = package.load("gpt2").reconcile_reported(reported=f"{flops} FLOP").explanations
    assert first.choices == ("convention narayanan", "batch=16", "with the backward pass") and first.value == flops


@pytest.mark.parametrize(("times", "words"), [(2, "twice,"), (4, "4 times,")])
def test_multiples_of_a_forward_pass_are_told(times: int, words: str) -> None:
    """Of a convention that counts no backward pass."""
    forward = package.load("vit_b_16").cost("torch-cpu").flops
    found = package.load("vit_b_16").reconcile_reported(reported=f"{times * forward} FLOP")
    assert any("convention torch-cpu" in own and any(word.startswith(words) for word in own) for own in _chosen(found))


@pytest.mark.parametrize(
    ("model", "sizes"),
    [
        ("t5-small", {"source": 128, "target": 64}),
        ("t5-small", {"source": 256, "target": 256}),
        ("whisper-tiny", {"frames": 1500}),
        ("clip-vit-base-patch32", {"texts": 8}),
        ("gpt2", {"past": 511, "length": 1}),
        ("siglip2-base-patch16-naflex", {"rows": 32}),
    ],
)
def test_any_dim_is_searched(model: str, sizes: dict[str, int]) -> None:
    work = package.load(model, set=sizes).cost("torch").flops
    found = package.load(model).reconcile_reported(reported=f"{work} FLOP").explanations
    told = [{part for words in row.choices for part in words.split(", ")} for row in found]
    assert {"convention torch", *(f"{name}={size}" for name, size in sizes.items())} in told
    assert all(row.value == work for row in found)


def test_a_convention_of_ones_own_is_searched(tmp_path: Path, netcalc: Callable[..., CommandResult]) -> None:
    file = tmp_path / "ours.yaml"
    rule = "{of: linear, macs: 5 * macs}"
    figure = "{title: ours, unit: parameters, rules: [{of: linear, count: 7 * own}]}"
    file.write_text(f"about: a test\nsource: none\nunit: MAC\nforward: [{rule}]\nfigures: {{parameters: {figure}}}\n")
    network = package.load("gpt2", set=SMALL)
    work = network.cost(str(file)).flops
    assert not network.reconcile_reported(reported=f"{work} MAC").ok
    words = [f"--set={name}={value}" for name, value in SMALL.items()]
    ran = netcalc("reconcile", "gpt2", "--reported", f"{work}MAC", "-c", str(file), "--format", "json", *words)
    (first, *_) = json.loads(ran.out)["explanations"]
    assert first["choices"] == [f"convention {file}"] and first["value"] == work
    (own,) = network.summary(str(file), view="params").figures
    found = network.reconcile_reported(reported_params=f"{own.value}", convention=str(file))
    assert found.explanations[0].choices == (f"parameters as {file} counts them",)


def test_a_shipped_convention_is_searched_anyway(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("reconcile", "mlp", "--reported", "1M", "--convention", "torch")
    assert ran.code == 2 and "all shipped conventions are searched" in ran.err
    ran = netcalc("reconcile", "mlp", "--convention", "torch")
    assert ran.code == 2 and "--convention is of two models, or of a number" in ran.err


def test_heads_and_embeddings_are_counted_or_left_out(netcalc: Callable[..., CommandResult]) -> None:
    """For a token 2·d·vocabulary in the head, and in a table that is a matrix (arXiv:2203.15556, appendix F)."""
    network = package.load("gpt2", set={**SMALL, "length": 128, "past": 0, "batch": 1})
    products = 2 * 64 * 1000 * 128
    chinchilla = network.cost("chinchilla").flops
    for more, choice in ((products, "with the head"), (products, "with embeddings as matrix products")):
        found = network.reconcile_reported(reported=f"{chinchilla + more} FLOP")
        assert {"convention chinchilla", choice} in _chosen(found)
    own = network.cost("torch").flops
    (first, *_) = network.reconcile_reported(reported=f"{own - products} FLOP").explanations
    assert "without the head" in first.choices and "--exclude lm_head" in first.command
    record = json.loads(netcalc(*first.command.split()[1:], "--format", "json").out)
    assert record["totals"]["flops"] == first.value == first.counted and first.arithmetic == ()


@pytest.mark.parametrize(
    ("model", "printed", "choices"),
    [
        ("gpt2", "123.65M", ("without positions",)),  # nanoGPT's "number of parameters"
        ("mixtral-8x7b", "12.9B", ("those that a token uses",)),  # arXiv:2401.04088
        ("gpt2", "84.93M", ("parameters as kaplan counts them",)),  # 12·layers·d², arXiv:2001.08361
    ],
)
def test_published_parameters_are_explained(model: str, printed: str, choices: tuple[str, ...]) -> None:
    found = package.load(model).reconcile_reported(reported_params=printed)
    assert choices in [row.choices for row in found.explanations]


def test_sizes_of_tools_are_bytes(netcalc: Callable[..., CommandResult]) -> None:
    """The forward/backward pass size of torchinfo, which its page shows as it is told to."""
    figures = package.load("resnet18", set={"batch": 16}).summary("torchinfo").figures
    (figure,) = (figure for figure in figures if "pass size" in figure.title)
    found = package.load("resnet18").reconcile_reported(reported_memory=f"{figure.value} bytes")
    (row,) = (row for row in found.explanations if "torchinfo" in row.choices[0])
    assert row.command == "netcalc summary resnet18 --convention torchinfo --set batch=16"
    record = json.loads(netcalc(*row.command.split()[1:], "--format", "json").out)
    assert row.counted in [one["value"] for one in record["figures"]] and row.choices[1:] == ("batch=16",)
