"""Command ``signal``: pages, records, pictures, selection and errors."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import netcalc as package
from tests.conftest import CommandResult
from tests.records.test_records import validated

CHAIN = str(Path(__file__).parent.parent / "fixtures" / "tanh_chain.yaml")
SMALL = str(Path(__file__).parent.parent / "fixtures" / "small.yaml")

PAGES: dict[str, list[str]] = {
    "chain": ["signal", CHAIN],
    "depth": ["signal", CHAIN, "--depth", "2", "--charts", "--seeds", "2"],
    "compare": ["signal", CHAIN, "--compare-init", "normal(std=0.01)", "--compare-init", "*.weight=orthogonal"],
    "small": ["signal", SMALL, "--mode", "train", "--set", "batch=4", "--seeds", "1"],
    "markdown": ["signal", CHAIN, "--filter", "*.tanh", "--format", "markdown"],
}


@pytest.mark.parametrize("name", PAGES)
def test_pages(name: str, netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]) -> None:
    ran = netcalc(*PAGES[name], "--dtype", "float64")
    assert (ran.code, ran.err) == (0, "")
    assert all(len(line) <= 80 for line in ran.out.splitlines()) or "markdown" in PAGES[name]
    golden(f"signal/{name}.txt", ran.out)


def test_the_record_is_that_of_the_api(netcalc: Callable[..., CommandResult]) -> None:
    record = validated(netcalc("signal", CHAIN, "--format", "json", "--seeds", "2", "--seed", "3"), "signal")
    assert record == package.as_dict(package.load(CHAIN).signal(seed=3, seeds=2))
    assert record["seeds"] == [3, 4]
    assert [layer["path"] for layer in record["layers"]][:2] == ["layers.0.linear", "layers.0.tanh"]
    first = record["layers"][0]
    assert first["measured"]["variance"] == pytest.approx(first["predicted"]["variance"], rel=0.2)
    assert first["measured"]["variance_deviation"] > 0
    joined = validated(netcalc("signal", CHAIN, "--format", "json", "--depth", "1"), "signal")["layers"]
    assert [layer["path"] for layer in joined] == ["layers"]
    assert set(joined[0]["measured"]["parameters"]) == {""}


def test_a_comparison_has_a_report_for_each_initializer(netcalc: Callable[..., CommandResult]) -> None:
    options = ["--init", "*.bias=normal(std=0.1)", "--compare-init", "default", "--compare-init", "zeros"]
    record = validated(netcalc("signal", CHAIN, *options, "--format", "json", "--seeds", "1"), "signal-comparison")
    assert [report["inits"] for report in record["reports"]] == [
        ["*.bias=normal(std=0.1)", "default"],
        ["*.bias=normal(std=0.1)", "zeros"],
    ]
    table = list(csv.DictReader(netcalc("signal", CHAIN, *options, "--format", "csv").out.splitlines()))
    assert {row["init"] for row in table} == {"default", "zeros"}


def test_rows_are_selected(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("signal", CHAIN, "--sort", "gradient", "--top", "2", "--filter", "*.linear", "--format", "csv")
    rows = list(csv.DictReader(ran.out.splitlines()))
    assert [row["path"] for row in rows] == ["layers.3.linear", "layers.2.linear"]
    assert float(rows[0]["gradient"]) > float(rows[1]["gradient"])
    assert netcalc("signal", CHAIN, "--sort", "size").code == 2


def test_charts_are_written_as_svg(netcalc: Callable[..., CommandResult], tmp_path: Path) -> None:
    for extra in ([], ["--compare-init", "default", "--compare-init", "zeros"]):
        file = tmp_path / "chart.svg"
        assert netcalc("signal", CHAIN, "--seeds", "1", "--plot", str(file), *extra).code == 0
        root = ElementTree.parse(file).getroot()
        titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
        spec = package.load(CHAIN).name
        assert titles == [f"{spec}: {name}" for name in ("variance of activations", "norm of gradients")]


def test_a_picture_of_another_kind_is_refused_before_the_run(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("signal", CHAIN, "--plot", "chart.gif")
    assert ran.code == 2 and "--plot chart.gif: .gif files are not written here" in ran.err


def test_inputs_are_given(netcalc: Callable[..., CommandResult], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.full((32, 64), 3.0, "float32"))
    ran = netcalc("signal", CHAIN, "--input", f"x={tmp_path / 'x.npy'}", "--format", "json", "--seeds", "1")
    first = json.loads(ran.out)["layers"][0]
    assert first["predicted"]["variance"] == pytest.approx(9.0)
    assert first["predicted"]["channel_variance"] == pytest.approx(0.0)
    assert first["measured"]["channel_variance"] == pytest.approx(0.0, abs=1e-9)


def test_losses(netcalc: Callable[..., CommandResult]) -> None:
    ones = (32 * 64) ** 0.5
    for loss, norm, tolerance in (("sum", ones, 1e-6), ("output", ones, 1e-6), ("random", 1.0, 0.1)):
        ran = netcalc("signal", CHAIN, "--loss", loss, "--format", "json", "--seeds", "1")
        first, *_, last = json.loads(ran.out)["layers"]
        assert last["predicted"]["gradient"] == pytest.approx(norm)
        assert last["measured"]["gradient"] == pytest.approx(norm, rel=tolerance)
        assert first["measured"]["gradient"] == pytest.approx(first["predicted"]["gradient"], rel=0.3)
        # norms of parameters are predicted where gradients of different data are independent
        assert bool(first["predicted"]["parameters"]) == (loss == "random")
    ran = netcalc("signal", CHAIN, "--loss", "outputs")
    assert ran.code == 2 and "did you mean 'output'?" in ran.err
    assert netcalc("signal", CHAIN, "--loss", "loss").code == 2


def test_the_loss_of_a_spec(netcalc: Callable[..., CommandResult]) -> None:
    arguments = ["signal", "resnet18", "--set", "height=32", "--set", "width=32", "--seeds", "1", "--loss", "loss"]
    ran = netcalc(*arguments, "--set", "batch=2", "--format", "json")
    layers = json.loads(ran.out)["layers"]
    assert layers[-1]["op"] == "cross_entropy"
    assert layers[-1]["measured"]["gradient"] == pytest.approx(1.0)
    assert all(layer["measured"]["gradient"] > 0 for layer in layers)


def test_an_initializer_that_does_not_fit_is_an_error(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("signal", CHAIN, "--init", "*.bias=xavier_normal")
    assert ran.code == 2 and "fan in and fan out need at least 2 dimensions" in ran.err
