"""Command ``reconcile MODEL MODEL``: layers by path whose figures make the difference of two networks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import netcalc as package
from tests.conftest import CommandResult
from tests.records.test_records import validated


@pytest.mark.parametrize(
    ("first", "second"),
    [("resnet50", "resnet34"), ("vit_b_16", "vit_b_32"), ("gpt2", "bert-base"), ("swin_t", "lstm"), ("mlp", "mlp")],
)
@pytest.mark.parametrize("depth", [None, 1, 2])
def test_layers_add_up_to_the_difference(first: str, second: str, depth: int | None) -> None:
    found = package.reconcile_networks(first, second, depth=depth, convention="fvcore")
    for name, figure, equal in (("params", "params", "params"), ("work", "flops", "work")):
        own = [getattr(package.load(model).cost("fvcore"), figure) for model in (first, second)]
        whole = getattr(found, name)
        assert [whole.before, whole.after] == own
        layers = [getattr(layer, name) for layer in found.differing]
        same = getattr(found.equal, equal)
        assert sum(row.before or 0 for row in layers) + same == whole.before
        assert sum(row.after or 0 for row in layers) + same == whole.after
        assert sum(row.difference for row in layers) == whole.difference == own[1] - own[0]
        assert sum(getattr(row, name).difference for row in found.operations) == whole.difference


def test_a_reimplementation_is_held_against_the_original() -> None:
    """A head of 10 classes in place of 1,000: 768 weights and a bias for each."""
    found = package.reconcile_networks("vit_b_16", "vit_b_16", set={"2:classes": 10})
    (head,) = found.differing
    assert (head.path, head.params.difference, found.params.difference) == ("heads.head", -990 * 769, -990 * 769)
    assert found.work.difference == -2 * 990 * 768 - 990  # products, and the bias


def test_paths_of_one_network_alone_are_rows_of_their_own() -> None:
    found = package.reconcile_networks("resnet34", "resnet18")
    rows = {layer.path: layer for layer in found.differing}
    # resnet18 has two blocks a stage; a block of the first stage has two 3x3 convolutions of 64 channels and two norms
    block = 2 * (3 * 3 * 64 * 64 + 2 * 64)
    assert rows["layer1.2"].params.before == block and rows["layer1.2"].params.after is None
    assert rows["layer3.2–5"].repeat == 4 and found.equal.layers > 0


def test_a_page_shows_parameters_work_and_operations(
    netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = netcalc("reconcile", "vit_b_16", "vit_b_32")
    assert (ran.code, ran.err) == (0, "") and all(len(line) <= 80 for line in ran.out.splitlines())
    golden("reconcile/models.txt", ran.out)
    record = validated(netcalc("reconcile", "mlp", "lenet5", "--format", "json"), "reconcile-models")
    assert sum(layer["params"]["difference"] for layer in record["layers"]) == record["params"]["difference"]
    table = netcalc("reconcile", "mlp", "lenet5", "--format", "csv").out.splitlines()
    assert table[0].startswith("path,op,repeat,mlp params,") and len(table) == 1 + len(record["layers"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["vit_b_32", "--reported", "11G"], "--reported is of one model"),
        (["vit_b_32", "--to", "fvcore"], "--to is of one model"),
        (["vit_b_32", "--convention", "nothing-like-it"], "fvcore"),
        (["--convention", "fvcore"], "--from NAME"),
        (["vit_b_32", "--set", "3:batch=8"], "there is no spec '3'"),
    ],
)
def test_options_of_one_model_and_of_two_are_told_apart(
    words: list[str], told: str, netcalc: Callable[..., CommandResult]
) -> None:
    ran = netcalc("reconcile", "vit_b_16", *words)
    assert ran.code == 2 and told in ran.err and ran.out == ""
