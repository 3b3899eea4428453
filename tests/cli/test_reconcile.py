"""Command ``reconcile``: two conventions, and the terms that make the difference."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import netcalc as package
from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.analysis.reconciliation import reconcile
from tests.conftest import CommandResult
from tests.records.test_records import validated


def _analyses(model: str) -> dict[str, Analysis]:
    """The costs under every convention that counts the network."""
    network, analyses = package.load(model), {}
    for convention in CONVENTIONS:
        analysis = network.analysis(convention)
        try:
            analysis.total  # noqa: B018
        except package.NetcalcError as error:
            assert "E701" in str(error)  # formulas of language models
        else:
            analyses[convention] = analysis
    return analyses


@pytest.mark.parametrize("model", ["vit_b_16", "swin_t", "gpt2", "resnet50", "lstm"])
def test_groups_of_every_pair_add_up_to_the_difference(model: str) -> None:
    analyses = _analyses(model)
    assert len(analyses) >= 14
    for first, second in combinations(analyses, 2):
        before, after = analyses[first], analyses[second]
        result = reconcile(before, after, depth=2)
        difference = after.total.flops - before.total.flops
        assert sum(group.after - group.before for group in result.groups) == difference, (first, second)
        for group in result.groups:
            if group.op:
                assert sum(layer.difference for layer in group.layers) == group.difference, (first, second, group.op)


@pytest.mark.parametrize("model", ["vit_b_16", "swin_t", "gpt2", "resnet50", "lstm"])
@pytest.mark.parametrize("passes", [{"backward": True}, {"training": "adamw"}], ids=str)
def test_groups_add_up_with_a_backward_pass_and_in_training(model: str, passes: dict[str, Any]) -> None:
    network, counted = package.load(model), [name for name, c in CONVENTIONS.items() if c.backward is not None]
    totals = dict[str, int]()
    for convention in counted:
        try:
            totals[convention] = int(network.cost(convention, **passes).flops_total)
        except package.NetcalcError as error:
            assert "E701" in str(error)  # formulas of language models
    assert len(totals) >= 3
    for first, second in combinations(totals, 2):
        result = network.reconcile(before=first, after=second, depth=1, **passes)
        assert result.before.work == totals[first] and result.after.work == totals[second]
        assert sum(group.difference for group in result.groups) == totals[second] - totals[first], (first, second)
        for group in result.groups:
            if group.op:
                assert sum(layer.difference for layer in group.layers) == group.difference, (first, second, group)


def test_a_backward_pass_differs_by_recomputation() -> None:
    """Matrices and attention of all layers run again, and the head does not (arXiv:2104.04473, Eq. 3)."""
    groups = package.load("gpt2").reconcile(before="chinchilla", after="narayanan", backward=True).groups
    again = [group for group in groups if group.term == "recomputation"]
    layers, attention = 2 * 1024 * 12 * 12 * 768**2, 4 * 12 * 1024**2 * 768
    assert sorted(group.difference for group in again) == sorted([layers, attention])
    assert all(group.phase == "backward" for group in again)


def test_fused_attention_and_norms_are_what_fvcore_counts_otherwise() -> None:
    """12 heads of 64 over 197 positions: two products of 197² · 768 in 12 layers; 5 for each element of 25 norms."""
    groups = package.load("vit_b_16").reconcile(before="torchvision", after="fvcore").groups
    product = 12 * 197**2 * 768
    assert [(group.op, group.difference) for group in groups] == [
        ("scaled_dot_product_attention", -product),
        ("scaled_dot_product_attention", -product),
        ("layer_norm", 25 * 5 * 197 * 768),
    ]


def test_a_change_of_the_unit_is_a_group_of_its_own() -> None:
    result = package.load("resnet50").reconcile(before="torchvision", after="torch")
    (group,) = result.groups
    assert (group.op, group.difference) == ("", result.before.work) and result.after.work == 2 * result.before.work
    (back,) = package.load("resnet50").reconcile(before="torch", after="torchvision").groups
    assert back.difference == -result.before.work


def test_equal_work_of_another_name_is_no_difference(tmp_path: Path) -> None:
    file = tmp_path / "ours.yaml"
    rule = "{of: linear, macs: {ours: 1 * macs}}"
    file.write_text(f"about: a test\nsource: none\nunit: MAC\nkinds: {{mac: 1}}\nforward:\n  - {rule}\n")
    result = package.load("vit_b_16").reconcile(before="torchvision", after=str(file))
    assert result.groups == () and result.difference == 0


def test_symbolic_totals_are_reconciled() -> None:
    result = package.load("vit_b_16", symbolic=["batch"]).reconcile(before="thop", after="fvcore")
    total = result.groups[0].difference
    for group in result.groups[1:]:
        total = total + group.difference
    assert total == result.difference and not isinstance(total, int)


def test_a_page_shows_groups_and_layers(
    netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = netcalc("reconcile", "vit_b_16", "--from", "thop", "--to", "ptflops", "--depth", "2")
    assert (ran.code, ran.err) == (0, "") and all(len(line) <= 80 for line in ran.out.splitlines())
    golden("reconcile/conventions.txt", ran.out)
    ran = netcalc("reconcile", "gpt2", "--from", "megatron", "--to", "narayanan", "--backward")
    assert (ran.code, ran.err) == (0, "") and all(len(line) <= 80 for line in ran.out.splitlines())
    golden("reconcile/backward.txt", ran.out)
    record = validated(netcalc("reconcile", "mlp", "--to", "torchinfo", "--format", "json"), "reconcile")
    assert sum(group["after"] - group["before"] for group in record["groups"]) == record["difference"]


def test_an_unknown_convention_lists_the_known_ones(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("reconcile", "mlp", "--to", "nothing-like-it")
    assert ran.code == 2 and "E701" in ran.err and "fvcore" in ran.err
