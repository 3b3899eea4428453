"""Options ``--sort``, ``--top``, ``--filter`` and ``--mode`` in every format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netcalc.ops.linear import Linear
from tests.conftest import CommandResult

SMALL = str(Path(__file__).parent.parent / "fixtures" / "small.yaml")


def layers(netcalc: Callable[..., CommandResult], *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(netcalc(*arguments, "--format", "json").out)["layers"]
    return found


def paths(table: str) -> list[str]:
    """Return the first column of the first table of a page."""
    lines = table.split("\n\n")[1].splitlines()
    return [line.split()[0] for line in lines[2 : lines.index(lines[1], 2)]]


@pytest.mark.parametrize("figure", ["params", "macs", "flops", "buffers", "weight_bytes"])
def test_figures_are_sorted_from_the_largest(figure: str, netcalc: Callable[..., CommandResult]) -> None:
    everything = layers(netcalc, "summary", "resnet18")
    found = layers(netcalc, "summary", "resnet18", "--sort", figure)
    assert sorted(map(str, found)) == sorted(map(str, everything))
    if figure in found[0]:
        values = [layer[figure] for layer in found]
        assert values == sorted(values, reverse=True)
        equal = [layer["path"] for layer in found if layer[figure] == 0]  # ties stay in order of execution
        assert equal == [layer["path"] for layer in everything if layer[figure] == 0]


def test_all_formats_select_the_same_rows(netcalc: Callable[..., CommandResult]) -> None:
    options = ["params", "resnet18", "--sort", "params", "--top", "5", "--filter", "layer*.conv*"]
    expected = [layer["path"] for layer in layers(netcalc, *options)]
    assert expected[:2] == ["layer4.0.conv2", "layer4.1.conv1"]
    rows = csv.DictReader(io.StringIO(netcalc(*options, "--format", "csv").out))
    assert [row["path"] for row in rows] == expected
    markdown = netcalc(*options, "--format", "markdown").out
    assert [line.split()[1] for line in markdown.splitlines() if "conv2d" in line][:5] == expected
    table = netcalc(*options, "--wide").out
    assert paths(table + "\n") == expected


def test_shown_and_hidden_rows_sum_to_the_total(netcalc: Callable[..., CommandResult]) -> None:
    out = netcalc("summary", "resnet34", "--filter", "conv2d", "--wide").out
    figures = {
        line.split("  ")[0]: [int(word.replace(",", "")) for word in line.split() if "," in word]
        for line in next(part for part in out.split("\n\n") if part.startswith("layer")).splitlines()[-3:]
    }
    (_, shown), (_, others), (name, total) = figures.items()
    assert name == "total"
    assert shown[0] + others[0] == total[0]
    assert shown[-1] + others[-1] == total[-1]
    assert shown[0] == 21_267_648  # parameters of all convolutions of ResNet-34
    assert total[0] == 21_797_672


def test_totals_include_all_rows(netcalc: Callable[..., CommandResult]) -> None:
    whole = json.loads(netcalc("summary", SMALL, "--format", "json").out)
    some = json.loads(netcalc("summary", SMALL, "--filter", "stem", "--format", "json").out)
    assert some["totals"] == whole["totals"]
    assert [layer["path"] for layer in some["layers"]] == ["stem"]


def test_patterns_match_paths_and_operations(netcalc: Callable[..., CommandResult]) -> None:
    found = layers(netcalc, "shapes", SMALL, "--filter", "linear", "--filter", "stage.0.*")
    assert [layer["op"] for layer in found] == ["conv2d", "batch_norm", "relu", "add", "linear", "linear", "linear"]
    shapes = netcalc("shapes", SMALL, "--filter", "stem").out
    assert "1 of 11 rows shown" in shapes


def test_symbolic_figures_are_sorted_by_their_default_values(netcalc: Callable[..., CommandResult]) -> None:
    found = layers(netcalc, "flops", SMALL, "--symbolic", "batch", "--sort", "flops")
    assert found[0]["path"] == "stage.0.conv"


def test_comparisons_are_sorted_by_the_size_of_the_difference(netcalc: Callable[..., CommandResult]) -> None:
    found = layers(netcalc, "compare", "resnet34", "resnet18", "--sort", "params", "--top", "2")
    assert [layer["path"] for layer in found] == ["layer4.2", "layer3.2"]
    table = netcalc("compare", "resnet34", "resnet18", "--sort", "params", "--top", "2").out
    assert "2 of 4 rows shown" in table


def test_lists_are_sorted_and_filtered(netcalc: Callable[..., CommandResult]) -> None:
    specs = json.loads(netcalc("specs", "--family", "teaching", "--sort", "macs", "-f", "json").out)["specs"]
    assert [spec["name"] for spec in specs] == ["seed_cnn", "mlp"]
    ops = [row["name"] for row in csv.DictReader(io.StringIO(netcalc("ops", "--filter", "*norm", "-f", "csv").out))]
    assert "batch_norm" in ops and "linear" not in ops


def test_traces_profiles_and_checks_are_selected(netcalc: Callable[..., CommandResult]) -> None:
    trace = json.loads(netcalc("run", SMALL, "--trace", "*", "--sort", "max", "--top", "3", "-f", "json").out)["trace"]
    assert len(trace) == 3
    assert trace[0]["max"] >= trace[1]["max"] >= trace[2]["max"]
    profile = json.loads(netcalc("run", SMALL, "--profile", "--threads", "1", "--top", "2", "-f", "json").out)[
        "profile"
    ]
    assert len(profile["layers"]) == 2
    checks = json.loads(netcalc("verify", SMALL, "--filter", "head", "-f", "json").out)["checks"]
    assert {check["path"] for check in checks} == {"head"}


@pytest.mark.parametrize(
    ("command", "rows"),
    [
        (["specs", "--family", "resnet"], "specs"),
        (["ops", "--search", "pool"], "operations"),
        (["run", SMALL, "--trace", "*"], "trace"),
        (["verify", SMALL, "--weights", "w.npz"], "groups"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("format_", ["table", "markdown"])
def test_tables_without_sums_count_the_rows_shown(
    command: list[str],
    rows: str,
    format_: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    netcalc: Callable[..., CommandResult],
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("w.npz", unknown=np.zeros(3, "float32"))
    record = json.loads(netcalc(*command, "--format", "json").out)
    count = len(record[rows]) + len(record.get("blocks", ()))
    assert count > 2
    if rows != "operations" or format_ == "table":  # the Markdown of operations has a page for each
        assert f"2 of {count} rows shown" in netcalc(*command, "--top", "2", "--format", format_).out.splitlines()
        assert "rows shown" not in netcalc(*command, "--format", format_).out


def test_failures_of_a_verification_are_selected(
    netcalc: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Linear.cost
    monkeypatch.setattr(Linear, "cost", lambda self, *args: [*right(self, *args)] * 2)
    checks = json.loads(netcalc("verify", SMALL, "--format", "json").out)["checks"]
    failures = [check for check in checks if not check["ok"]]
    ran = netcalc("verify", SMALL, "--top", "2")
    assert ran.code == 1
    assert f"2 of {len(failures)} rows shown" in ran.out
    assert ran.out.count(" linear ") == 2


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        ("E502", ["summary", "mlp", "--sort", "parms"], "did you mean 'params'?"),
        ("E502", ["compare", "mlp", "mlp", "--sort", "tensors"], "no such figure or column"),
        ("E502", ["specs", "--sort", "size"], "no such figure or column"),
        ("E502", ["run", "mlp", "--sort", "size"], "no such figure or column"),
        ("E503", ["summary", "mlp", "--filter", "hiden.*"], "no row has a name that matches"),
        ("E502", ["summary", "mlp", "--top", "0"], "--top"),
        ("E502", ["summary", "mlp", "--mode", "eval", "--train"], "contradict"),
        ("E502", ["summary", "mlp", "--mode", "test"], "--mode"),
    ],
)
def test_invalid_selections(
    code: str, arguments: list[str], message: str, netcalc: Callable[..., CommandResult]
) -> None:
    ran = netcalc(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert f"error[{code}]" in ran.err
    assert message in ran.err


def test_train_is_an_alias_of_a_mode(netcalc: Callable[..., CommandResult]) -> None:
    training = netcalc("flops", SMALL, "--mode", "train").out
    assert training == netcalc("flops", SMALL, "--train").out
    assert training != netcalc("flops", SMALL, "--mode", "eval").out == netcalc("flops", SMALL).out


@pytest.mark.parametrize("command", [["explain", SMALL, "stem"], ["run", SMALL], ["verify", SMALL]])
def test_text_is_an_alias_of_table(command: list[str], netcalc: Callable[..., CommandResult]) -> None:
    assert netcalc(*command, "--format", "text") == netcalc(*command, "--format", "table")
    assert netcalc(*command, "--format", "markdown").out.count("|:--|")
    rows = list(csv.reader(io.StringIO(netcalc(*command, "--format", "csv").out)))
    assert len(rows) > 1 and len({len(row) for row in rows}) == 1


def test_commands_are_listed_in_groups(netcalc: Callable[..., CommandResult]) -> None:
    page = netcalc("--help").out
    places = [page.index(f" {title} ") for title in ("Count", "Run", "Compare and check", "Reference")]
    assert places == sorted(places)
