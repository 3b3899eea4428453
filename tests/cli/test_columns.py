"""Columns that a user chooses."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import pytest

from tests.conftest import CommandResult

#: Kernels and strides of AlexNet's features, as in torchvision/models/alexnet.py.
ALEXNET = {
    "0": ("11", "4"),
    "2": ("3", "2"),
    "3": ("5", "1"),
    "5": ("3", "2"),
    "6": ("3", "1"),
    "8": ("3", "1"),
    "10": ("3", "1"),
    "12": ("3", "2"),
}


def test_kernels_and_strides(netcalc: Callable[..., CommandResult]) -> None:
    out = netcalc("shapes", "alexnet", "--columns", "kernel,stride", "--filter", "features.*", "-f", "csv").out
    rows = {row["path"].removeprefix("features."): row for row in csv.DictReader(io.StringIO(out))}
    assert list(rows["0"]) == ["path", "kernel", "stride"]
    shown = {path: (row["kernel"], row["stride"]) for path, row in rows.items() if row["kernel"]}
    assert shown == {path: (f"{kernel}x{kernel}", f"{stride}x{stride}") for path, (kernel, stride) in ALEXNET.items()}


@pytest.mark.parametrize("verb", ["shapes", "params", "flops", "summary"])
def test_chosen_columns_are_all_shown_in_their_order(
    verb: str, netcalc: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = "share,macs,padding,op,inputs,outputs,buffers,repeat"
    for width in (40, 80, 300):
        monkeypatch.setenv("COLUMNS", str(width))
        out = netcalc(verb, "resnet18", "--columns", names).out
        header = next(line for line in out.splitlines() if line.startswith("layer "))
        shown = ["layer", "share", "MACs", "padding", "operation", "input", "output", "buffers", "repeat"]
        assert header.split() == shown
        table = out.partition(header)[2].partition("\n\n")[0]
        assert "not shown" not in table and "more" not in table


def test_columns_may_be_named_as_tables_are_headed(netcalc: Callable[..., CommandResult]) -> None:
    titled = netcalc("flops", "resnet18", "--columns", "operation,output,MACs").out
    assert (
        titled.partition("layer ")[2]
        == netcalc("flops", "resnet18", "--columns", "op,outputs,macs").out.partition("layer ")[2]
    )


def test_figures_agree_with_the_default_columns(netcalc: Callable[..., CommandResult]) -> None:
    options = ["flops", "gpt2", "--backward", "-f", "csv"]
    rows = list(csv.DictReader(io.StringIO(netcalc(*options).out)))
    chosen = list(csv.DictReader(io.StringIO(netcalc(*options, "--columns", "op,repeat,flops_total,outputs").out)))
    names = ("path", "op", "repeat", "flops_total", "outputs")
    assert chosen == [{name: row[name] for name in names} for row in rows]


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["summary", "alexnet", "--columns", "kernal"], "did you mean 'kernel'?"),
        (["summary", "alexnet", "--columns", "op,"], "known here: op, inputs"),
        (["params", "alexnet", "--columns", "flops_total"], "no such column"),
        (["summary", "alexnet", "--columns", "op", "-f", "json"], "JSON has all fields"),
    ],
)
def test_mistakes(command: list[str], reason: str, netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc(*command)
    text = " ".join((ran.out + ran.err).split())
    assert ran.code == 2
    assert "E502" in text and reason in text
