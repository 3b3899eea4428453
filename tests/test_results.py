"""Results in Python: as text, as columns, as charts."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import netcalc
from netcalc import NetcalcError
from netcalc.cli import main


def test_text_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    summary = netcalc.load("bert-base").summary()
    for width in (80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        assert max(map(len, str(summary).splitlines())) <= width
        assert str(summary) == summary.to_text(width)
    monkeypatch.delenv("COLUMNS")
    assert str(summary) == summary.to_text()  # a pipe


def test_columns_are_those_of_csv(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", "resnet18", "--format", "csv"]) == 0
    rows = [*csv.DictReader(capsys.readouterr().out.splitlines())]
    records = netcalc.load("resnet18").summary().records()
    assert [{name: str(value) for name, value in record.items()} for record in records] == rows
    assert all(type(record["macs"]) is int for record in records)


def test_no_value_is_none() -> None:
    rows = netcalc.load("mlp").signal().records()
    assert rows[0]["dead"] is None and rows[1]["dead"] is not None


def test_charts_are_saved(tmp_path: Path) -> None:
    net = netcalc.load("mlp")
    for name, result in {"memory": net.memory(), "signal": net.signal(), "train": net.train(2)}.items():
        result.plot(tmp_path / f"{name}.svg")
        assert (tmp_path / f"{name}.svg").read_text(encoding="utf-8").startswith("<svg")


def test_results_without_charts(tmp_path: Path) -> None:
    with pytest.raises(NetcalcError, match="this Summary has no charts"):
        netcalc.load("mlp").summary(view="shapes").plot(tmp_path / "summary.svg")
    with pytest.raises(NetcalcError, match="charts need numbers in place of batch"):
        netcalc.load("resnet18", symbolic=["batch"]).memory().plot(tmp_path / "memory.svg")
    with pytest.raises(NetcalcError, match="a chart needs a number in place of"):
        netcalc.load("resnet18", symbolic=["batch"]).summary(view="flops").plot(tmp_path / "flops.svg")
    with pytest.raises(NetcalcError, match=r"memory\.pdf: \.pdf files are not written here"):
        netcalc.load("gpt2").memory().plot(tmp_path / "memory.pdf")
    assert not [*tmp_path.iterdir()]


def test_parts_of_a_network() -> None:
    net = netcalc.load("bert-base", set={"layers": 3}, symbolic=["batch"])
    assert [str(size) for size in net.inputs["input_ids"].shape] == ["batch", "512"]
    assert net.outputs["pooler_output"].shape[1] == 768
    assert (str(net.dims["batch"]), net.dims["length"], net.vars["layers"]) == ("batch", 512, 3)
    assert sum(layer.params * layer.repeat for layer in net.layers) == net.params
