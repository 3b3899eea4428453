"""Results as data frames of pandas and polars."""

from __future__ import annotations

from typing import Any

import pytest

import netcalc

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

RESULTS = {
    "summary": lambda: netcalc.load("resnet18").summary(),
    "symbolic": lambda: netcalc.load("resnet18", symbolic=["batch"]).summary(depth=1),
    "compare": lambda: netcalc.compare("resnet34", "resnet18"),
    "memory": lambda: netcalc.load("gpt2").memory(),
    "describe": lambda: netcalc.describe("resnet18"),
    "explain": lambda: netcalc.load("mlp").explain("output"),
    "verify": lambda: netcalc.load("mlp").verify(),
    "signal": lambda: netcalc.load("mlp").signal(),
    "train": lambda: netcalc.load("mlp").train(2),
}


@pytest.mark.parametrize("name", RESULTS)
def test_data_frames_take_columns_and_records(name: str) -> None:
    result: Any = RESULTS[name]()
    columns, records = result.to_dict(), result.records()
    assert records
    for frame in (pandas.DataFrame(columns), pandas.DataFrame(records)):
        assert [*frame.columns] == [*columns] and len(frame) == len(records)
    for frame in (polars.DataFrame(columns, strict=False), polars.DataFrame(records, strict=False)):
        assert frame.columns == [*columns] and frame.height == len(records)


def test_figures_stay_numbers() -> None:
    columns = netcalc.load("resnet18").summary().to_dict()
    frame = pandas.DataFrame(columns)
    assert (frame["params"] * frame["repeat"]).sum() == 11_689_512
    assert (polars.DataFrame(columns)["params"] * polars.DataFrame(columns)["repeat"]).sum() == 11_689_512
