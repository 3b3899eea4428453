"""Output of `netcalc compare` in every format, and its errors."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

import pytest

import netcalc as package
from tests.conftest import CommandResult


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("two", ["resnet34", "resnet18"]),
        ("all", ["mlp", "mlp", "--set", "2:batch=4", "--all"]),
        ("three", ["plain18", "resnet18", "resnet34", "--depth", "1", "--convention", "torchvision"]),
        ("same", ["mlp", "mlp"]),
        ("conventions", ["resnet18", "-c", "netcalc", "-c", "torch", "-c", "fvcore", "--depth", "1"]),
    ],
)
@pytest.mark.parametrize("format_", ["table", "markdown"])
def test_pages(
    name: str,
    arguments: list[str],
    format_: str,
    netcalc: Callable[..., CommandResult],
    golden: Callable[[str, str], None],
) -> None:
    ran = netcalc("compare", *arguments, "--format", format_)
    assert (ran.code, ran.err) == (0, "")
    golden(f"compare/{name}.{'txt' if format_ == 'table' else 'md'}", ran.out)


def test_json_and_csv_agree(netcalc: Callable[..., CommandResult]) -> None:
    arguments = ["compare", "resnet34", "resnet18", "--all"]
    record = json.loads(netcalc(*arguments, "--format", "json").out)
    rows = list(csv.DictReader(io.StringIO(netcalc(*arguments, "--format", "csv").out)))
    assert record["totals"]["params"] == {
        "values": [21797672, 11689512],
        "difference": [-10108160],
        "ratio": [11689512 / 21797672],
    }
    assert [row["path"] for row in rows] == [row["path"] for row in record["layers"]]
    for figure in ("params", "buffers", "macs", "flops"):
        differences = [row["difference"][figure][0] for row in record["layers"]]
        assert [int(row[f"resnet18 {figure} difference"]) for row in rows] == differences
        total = sum(row["repeat"] * row["difference"][figure][0] for row in record["layers"])
        assert total == record["totals"][figure]["difference"][0]


def test_a_comparison_has_a_convention() -> None:
    with pytest.raises(package.NetcalcError, match="E502"):
        package.compare("mlp", "mlp", convention=[])


def test_conventions_are_columns(netcalc: Callable[..., CommandResult]) -> None:
    """Each column is what ``flops`` counts under its convention, in totals, operations and layers."""
    names = ["fvcore", "torch", "torchvision"]
    chosen = [word for name in names for word in ("--convention", name)]
    words = ["densenet121", "--set", "batch=2", "--format", "json"]
    record = json.loads(netcalc("compare", *words, *chosen, "--all").out)
    assert record["convention"] is None and (record["specs"], record["conventions"]) == (["densenet121"] * 3, names)
    for place, name in enumerate(names):
        single = json.loads(netcalc("flops", *words, "--convention", name).out)
        totals = {key: single["totals"][key] for key in ("macs", "flops")}
        assert {key: record["totals"][key]["values"][place] for key in totals} == totals
        assert record["uncounted"][name] == single.get("uncounted", [])
        column = [row["layers"][place] for row in record["layers"]]
        assert [(layer["op"], layer["flops"]) for layer in column] == [
            (layer["op"], layer["flops"]) for layer in single["layers"]
        ]


def test_settings_apply_to_all_specs_or_to_one(netcalc: Callable[..., CommandResult]) -> None:
    found = netcalc("compare", "mlp", "resnet18", "-s", "height=64", "-s", "batch=2", "-s", "1:batch=3", "-f", "json")
    first, second = json.loads(found.out)["inputs"]
    assert next(iter(first.values()))["shape"][0] == 3
    assert second["image"]["shape"] == [2, 3, 64, 224]


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("E502", ["mlp"]),
        ("E502", ["mlp", "--convention", "torch"]),
        ("E502", ["mlp", "--convention", "torch", "--convention", "torch"]),
        ("E502", ["mlp", "mlp", "--convention", "torch", "--convention", "fvcore"]),
        ("E701", ["mlp", "--convention", "torch", "--convention", "mxnet"]),
        ("E502", ["-", "-"]),
        ("E005", ["mlp", "mpl"]),
        ("E501", ["mlp", "mlp", "--set", "hieght=3"]),
        ("E501", ["mlp", "mlp", "--set", "3:batch=3"]),
        ("E501", ["mlp", "mlp", "--set", "2:bach=3"]),
        ("E701", ["mlp", "mlp", "--convention", "mxnet"]),
    ],
)
def test_invalid_arguments(code: str, arguments: list[str], netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("compare", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert f"error[{code}]" in ran.err


def test_assignments_may_be_for_one_spec(netcalc: Callable[..., CommandResult]) -> None:
    """2:4 is a pattern of pruning for both, 2:2:4 for the second one."""

    def sizes(*options: str) -> list[int]:
        ran = netcalc("compare", "mlp", "mlp", *options, "--format", "json")
        assert (ran.code, ran.err) == (0, "")
        found: list[int] = json.loads(ran.out)["totals"]["weight_bytes"]["values"]
        return found

    full, pruned = sizes("--prune", "2:2:4")
    assert sizes("--prune", "2:4") == [pruned, pruned]
    assert sizes("--quantize", "1:int8", "--quantize", "2:float16")[1] == full / 2
    assert "there is no spec number 3" in netcalc("compare", "mlp", "mlp", "--quantize", "3:int8").err
