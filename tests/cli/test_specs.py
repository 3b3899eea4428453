"""Output of `netcalc specs`: families, figures, filters and search."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

import pytest

import netcalc as package
from tests.conftest import CommandResult


@pytest.mark.parametrize(("name", "format_"), [("teaching.txt", "table"), ("teaching.md", "markdown")])
def test_pages(
    name: str, format_: str, netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]
) -> None:
    golden(f"specs/{name}", netcalc("specs", "--family", "teaching", "--format", format_).out)


def test_figures_equal_those_of_the_summary(netcalc: Callable[..., CommandResult]) -> None:
    specs = json.loads(netcalc("specs", "resnet-", "--family", "resnet", "-f", "json", "-c", "torchvision").out)[
        "specs"
    ]
    assert {"resnet18", "resnet34"} <= {spec["name"] for spec in specs}
    for spec in specs:
        cost = package.load(spec["name"]).cost("torchvision")
        assert (spec["params"], spec["macs"]) == (cost.params, cost.macs)


def test_the_search_ignores_case(netcalc: Callable[..., CommandResult]) -> None:
    rows = list(csv.DictReader(io.StringIO(netcalc("specs", "RESNET-34", "--format", "csv").out)))
    assert "resnet34" in [row["name"] for row in rows]
    assert all("resnet-34" in " ".join(row.values()).lower() for row in rows)


@pytest.mark.parametrize("arguments", [["--family", "resnt"], ["nothing of the kind"]])
def test_invalid_arguments(arguments: list[str], netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("specs", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "error[E502]" in ran.err
