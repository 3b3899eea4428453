"""Contract of ``summary --format json`` on every shipped spec: keys, sums of rows, order of layers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import netcalc as package
from netcalc.options import SummaryOptions
from netcalc.render.presentations import record
from netcalc.spec.shipped import shipped
from tests.conftest import CommandResult

SMALL = str(Path(__file__).parent.parent / "fixtures" / "small.yaml")
KEYS = {
    "schema",
    "netcalc",
    "spec",
    "dtype",
    "checkpoint_dtype",
    "stored_as",
    "convention",
    "inputs",
    "outputs",
    "totals",
}
KEYS |= {"layers", "sizes"}
TOTALS = {"params", "params_trainable", "buffers", "weight_bytes", "macs", "flops"}
PARTS = {"params_active", "macs_expected", "flops_expected"}  # given where they are not all
LAYER = {"path", "op", "inputs", "outputs", "params", "buffers", "macs", "flops", "repeat", "instances"}


def summary(netcalc: Callable[..., CommandResult], *arguments: str) -> dict[str, Any]:
    ran = netcalc("summary", *arguments, "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    found: dict[str, Any] = json.loads(ran.out)
    return found


#: Rows of a summary: the options of the command, and those of the method.
ROWS: list[tuple[list[str], SummaryOptions]] = [
    ([], {}),
    (["--unroll"], {"unroll": True}),
    (["--depth", "1"], {"depth": 1}),
    (["--depth", "2", "--unroll"], {"depth": 2, "unroll": True}),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("spec", [SMALL, *shipped()])
def test_rows_add_up(spec: str) -> None:
    network = package.load(spec)
    for _, options in ROWS:
        _assert_adds_up(_record(network, options))


@pytest.mark.parametrize(("words", "options"), ROWS, ids=[" ".join(words) for words, _ in ROWS])
@pytest.mark.parametrize("spec", [SMALL, "swin_t", "mixtral-8x7b", "t5-small"])
def test_a_command_has_the_rows_of_the_method(
    spec: str, words: list[str], options: SummaryOptions, netcalc: Callable[..., CommandResult]
) -> None:
    assert summary(netcalc, spec, *words) == _record(package.load(spec), options)


def _record(network: package.Network, options: SummaryOptions) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(record(network.summary(**options))))
    return found


def _assert_adds_up(found: Mapping[str, Any]) -> None:
    # given where implementations differ in their work, and where the spec remarks on what is counted
    assert set(found) - {"counted_as", "figures", "masked_attention", "notes"} == KEYS
    assert found["sizes"]["total"] == sum(size for part, size in found["sizes"].items() if part != "total")
    assert set(found["totals"]) - PARTS == TOTALS
    for layer in found["layers"]:
        assert set(layer) - {"calls"} == LAYER  # given where a module is called several times
        assert all(isinstance(size, int) for side in ("inputs", "outputs") for shape in layer[side] for size in shape)
    for figure in ("params", "buffers", "macs", "flops"):
        rows = sum(layer[figure] * layer["repeat"] for layer in found["layers"])
        assert rows == found["totals"][figure], figure


@pytest.mark.parametrize("convention", ["torch", "torchvision", "fvcore"])
def test_rows_add_up_under_every_convention(convention: str, netcalc: Callable[..., CommandResult]) -> None:
    found = summary(netcalc, "transformer", "--convention", convention)
    assert sum(layer["flops"] * layer["repeat"] for layer in found["layers"]) == found["totals"]["flops"]
    assert found["convention"] == convention


def test_what_is_not_counted_is_named(netcalc: Callable[..., CommandResult]) -> None:
    found = summary(netcalc, "mamba2-130m", "--convention", "torch")
    assert "silu" in found["uncounted"]
    assert found["counted_as"] == {"ssd_scan": "transformers' eager fallback mamba2_chunk_scan"}


def test_folded_rows_equal_the_unrolled_rows(netcalc: Callable[..., CommandResult]) -> None:
    folded, unrolled = summary(netcalc, "resnet34"), summary(netcalc, "resnet34", "--unroll")
    assert folded["totals"] == unrolled["totals"]
    paths = [layer["path"] for layer in unrolled["layers"]]
    assert len(set(paths)) == len(paths) == sum(layer["repeat"] for layer in folded["layers"])
    assert {layer["repeat"] for layer in unrolled["layers"]} == {1}
    assert "layer3.4.conv2" in paths
    by_path = {layer["path"]: layer for layer in unrolled["layers"]}
    for layer in folded["layers"]:
        assert by_path[layer["path"]] == {**layer, "repeat": 1, "instances": []}


def test_leaves_only_unless_a_depth_is_given(netcalc: Callable[..., CommandResult]) -> None:
    leaves = [layer["path"] for layer in summary(netcalc, SMALL)["layers"]]
    assert leaves[:3] == ["stem", "stage.0.conv", "stage.0.norm"]
    assert [layer["path"] for layer in summary(netcalc, SMALL, "--depth", "1")["layers"]][:3] == [
        "stem",
        "stage",
        "pool",
    ]
    assert [layer["op"] for layer in summary(netcalc, SMALL, "--depth", "2")["layers"]][1] == "residual"


def test_layers_are_in_execution_order_and_shapes_match(netcalc: Callable[..., CommandResult]) -> None:
    layers = summary(netcalc, "plain18", "--unroll")["layers"]  # no branches
    for before, after in pairwise(layers):
        assert before["outputs"] == after["inputs"]


def test_inputs_outputs_and_the_tied_layer(netcalc: Callable[..., CommandResult]) -> None:
    found = summary(netcalc, SMALL, "--set", "batch=2")
    assert found["inputs"] == {"image": {"shape": [2, 3, 16, 16], "dtype": "float32"}}
    assert found["outputs"]["logits"] == {"shape": [2, 10], "dtype": "float32"}
    layers = {layer["path"]: layer for layer in found["layers"]}
    assert (layers["head"]["params"], layers["again"]["params"]) == (72, 0)
    assert layers["head"]["macs"] == layers["again"]["macs"] == 2 * 64


def test_symbolic_sizes_and_counts_are_text(netcalc: Callable[..., CommandResult]) -> None:
    found = summary(netcalc, SMALL, "--symbolic", "batch")
    assert found["inputs"]["image"]["shape"] == ["batch", 3, 16, 16]
    assert found["layers"][0]["outputs"] == [["batch", 8, 16, 16]]
    assert found["totals"]["macs"] == "497872*batch"
    assert found["totals"]["params"] == 2162


def test_every_layer_is_on_its_own_line(netcalc: Callable[..., CommandResult]) -> None:
    lines = netcalc("summary", "resnet34", "--unroll", "--format", "json").out.splitlines()
    assert sum('"path"' in line for line in lines) == sum(line.startswith('    {"path"') for line in lines) == 125
