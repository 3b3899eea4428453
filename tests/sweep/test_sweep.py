"""The verb: rows, columns, fronts, files of further figures, pages, and bad input before any work."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netcalc as api
from netcalc.analysis.sweep_report import Columns, Steps, Sweep
from netcalc.sweep.plan import Plan
from tests.conftest import CommandResult

OVER = ["d_model=64:256:64", "layers=1,3", "heads=3,4"]
LINE = "gpt2 --over d_model=64:256:64 --over layers=1,3 --over heads=3,4"


@pytest.fixture(scope="module")
def sweep() -> Sweep:
    return api.load("gpt2").sweep(OVER, figures="params,macs,cache", pareto="params,max:macs", top=3)


def test_the_rows_are_those_of_networks_alone(sweep: Sweep) -> None:
    assert (sweep.count, len(sweep.points), sweep.refused) == (16, 16, 6)
    assert [point.place for point in sweep.points] == list(range(16))
    for point in sweep.points:
        try:
            network = api.load("gpt2", set=dict(point.values))
        except api.NetcalcError as error:
            assert point.refused is not None and error.diagnostics[0].code in point.refused
            assert set(point.figures.values()) == {None}
        else:
            assert point.refused is None
            assert (point.figures["params"], point.figures["macs"]) == (network.params, network.macs)
            assert point.figures["cache"] == network.memory(cache="ideal").caches()
    assert sum(reason.points for reason in sweep.reasons) == 6
    assert sweep.reasons[0].reason == (
        "E108: heads must divide d_model: d_model % heads == 0 does not hold for d_model = 64, heads = 3"
    )


def test_the_best_and_the_front_are_those_of_all_rows(sweep: Sweep) -> None:
    taken = [point for point in sweep.points if point.refused is None]
    ordered = sorted(taken, key=lambda point: point.figures["params"])  # type: ignore[arg-type, return-value]
    assert list(sweep.best) == ordered[:3]
    figures = {point.place: (point.figures["params"], point.figures["macs"]) for point in taken}
    front = {
        place
        for place, (params, macs) in figures.items()
        if not any(
            other[0] <= params and other[1] >= macs and (other != (params, macs) or before < place)  # type: ignore[operator]
            for before, other in figures.items()
            if before != place
        )
    }
    assert {point.place for point in sweep.front} == front


def test_columns_are_arrays_of_numpy(sweep: Sweep) -> None:
    columns = sweep.columns
    assert list(columns) == ["d_model", "layers", "heads", "params", "macs", "cache", "reason"]
    assert [columns[name].dtype.kind for name in columns] == ["i", "i", "i", "f", "f", "f", "O"]
    assert columns["d_model"].tolist() == [64] * 4 + [128] * 4 + [192] * 4 + [256] * 4
    refused = [point.refused is not None for point in sweep.points]
    assert np.isnan(columns["params"]).tolist() == refused
    accepted = sweep.accepted
    assert {array.dtype.str for array in accepted.values()} == {"<i8"}
    taken = [point.figures["params"] for point in sweep.points if point.refused is None]
    assert accepted["params"].tolist() == taken
    assert sweep.to_dict()["params"] == [point.figures["params"] for point in sweep.points]
    assert sweep.records()[3] == {"d_model": 64, "layers": 3, "heads": 4, **sweep.points[3].figures, "reason": None}


def test_data_frames_take_the_columns(sweep: Sweep) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(sweep.columns)
    assert frame["params"].notna().sum() == 10
    assert frame.groupby("layers")["params"].min().to_dict() == {
        layers: min(
            point.figures["params"]
            for point in sweep.points
            if point.refused is None and point.values["layers"] == layers
        )  # type: ignore[type-var]
        for layers in (1, 3)
    }


def test_data_frames_of_polars_take_the_columns(sweep: Sweep) -> None:
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(sweep.accepted)["params"].to_list() == sweep.accepted["params"].tolist()
    assert polars.DataFrame(sweep.columns).height == 16


def test_integers_of_any_size_stay_exact() -> None:
    columns = Columns(Plan({"a": range(5)}), ["f"])
    columns.add({"f": [1, 2]}, [None, None])
    columns.add({"f": [None]}, ["E108: no"])
    columns.add({"f": [1 << 70, 3]}, [None, None])
    assert [point.figures["f"] for point in columns] == [1, 2, None, 1 << 70, 3]
    assert [point.refused for point in columns] == [None, None, "E108: no", None, None]
    assert columns[-1].values == {"a": 4}
    assert [point.place for point in columns[1:4]] == [1, 2, 3]
    with pytest.raises(IndexError):
        columns[5]


@settings(max_examples=20)
@given(st.lists(st.one_of(st.none(), st.integers(-(2**70), 2**70)), min_size=1, max_size=12), st.integers(1, 4))
def test_columns_have_what_was_added(values: list[int | None], size: int) -> None:
    columns = Columns(Plan({"a": range(len(values))}), ["f"])
    reasons = [None if value is not None else f"E{value}" for value in values]
    for start in range(0, len(values), size):
        columns.add({"f": values[start : start + size]}, reasons[start : start + size])
    assert list(columns.figure("f")) == values
    assert columns.reasons() == reasons


def test_drawn_points_are_those_of_the_grid() -> None:
    network = api.load("gpt2", set={"heads": "${d_model // 32}"})
    over = {"d_model": range(64, 512, 32), "layers": range(1, 2001)}
    drawn = network.sweep(over, random=20, seed=5, figures="params")
    assert drawn.count == 20 and len({tuple(point.values.values()) for point in drawn.points}) == 20
    for point in drawn.points:
        width, layers, heads = point.values.values()
        assert width in over["d_model"] and layers in over["layers"] and heads == width // 32  # type: ignore[operator]
        # 12·width² + 13·width of a layer, two embeddings, and the last norm
        assert point.figures["params"] == layers * (12 * width**2 + 13 * width) + (50257 + 1024 + 2) * width  # type: ignore[operator]
    assert network.sweep(over, random=20, seed=5, figures="params").points[7] == drawn.points[7]
    assert drawn.ranges["layers"] == Steps(1, 1, 2000)


def test_figures_of_a_file_are_matched_by_the_swept_columns(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text("note,layers,d_model,accuracy,params\nx,1,64,0.5,9\ny,2,64,0.75,9\nz,1,128,,9\n", encoding="utf-8")
    found = api.load("gpt2").sweep(
        ["d_model=64,128", "layers=1,2", "heads=4"], join=str(path), pareto="params,max:accuracy", best="max:accuracy"
    )
    assert found.to_dict()["accuracy"] == [0.5, 0.75, None, None]
    assert found.figures == {"params": "elements", "macs": "MACs", "accuracy": ""}
    assert [point.place for point in found.front] == [0, 1]
    assert [point.place for point in found.best] == [1, 0]
    assert found.notes == ("3 of 4 points have figures of the file",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("layers,accuracy\n1,2\n", "there is no column 'd_model' \\(its columns are layers, accuracy"),
        ("layers,d_model\n1,2\n", "no column has figures that are numbers"),
        ("layers,d_model,accuracy\n1,2,good\n", "no column has figures that are numbers"),
        ("layers,d_model,accuracy\n1,64,1\n1.0,64,2\n", "row 3 has the values of an earlier one"),
        ("layers,d_model,accuracy\n1,64\n", "row 2 has 2 values, and the head 3"),
    ],
)
def test_bad_files_of_figures_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "results.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(api.NetcalcError, match=message):
        api.load("gpt2").sweep(["d_model=64,128", "layers=1,2"], join=str(path))
    with pytest.raises(api.NetcalcError, match=r"E004: --join .*none.csv: no such file"):
        api.load("gpt2").sweep("d_model=64,128", join=str(tmp_path / "none.csv"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "--over: no range"),
        ("--over d_modle=1,2", "did you mean 'd_model'"),
        ("--over d_model=2:1", "the range is empty"),
        ("--over d_model=1:2:0", "the step should be above 0"),
        ("--over batch=0:4", "--over batch: should be a whole number of at least 1, not 0"),
        ("--over d_model=64,128 --random 3", "--random 3: the ranges have 2 points"),
        ("--over d_model=64,128 --figures parms", "there is no figure 'parms'"),
        ("--over d_model=64,128 --figures ,", "no figure is named"),
        ("--over d_model=64,128 --pareto params", "a front has several figures"),
        ("--over d_model=64,128 --pareto params,accuracy", "there is no figure 'accuracy'"),
        ("--over d_model=64,128 --best params,macs", "--best params,macs: should be one figure"),
        ("--over d_model=64,128 --best speed", "there is no figure 'speed'"),
        ("--over d_model=64,128 --join none.csv", "--join none.csv: no such file"),
        ("--over d_model=64,128 --symbolic batch", "batch is a symbol"),
    ],
)
def test_bad_input_is_an_error_before_any_work(
    words: str, message: str, netcalc: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netcalc.sweep.evaluation.Evaluator.evaluate", None)
    ran = netcalc("sweep", "gpt2", *words.split())
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err and ran.err.count("error[") == 1


def test_the_page(golden: Callable[..., None], netcalc: Callable[..., CommandResult]) -> None:
    words = [*LINE.split(), "--figures", "params,macs,memory,cache", "--pareto", "params,max:macs", "--top", "4"]
    golden("reports/sweep.txt", netcalc("sweep", *words).out)
    drawn = "llama-3.1-8b --over layers=1:100000 --over d_model=log:1k:64k:7 --random 9 --seed 2 --best max:params"
    golden("reports/sweep-drawn.txt", netcalc("sweep", *drawn.split()).out)


def test_csv_and_json_have_all_rows(netcalc: Callable[..., CommandResult], sweep: Sweep) -> None:
    options = ["--figures", "params,macs,cache", "--pareto", "params,max:macs", "--top", "3"]
    record = json.loads(netcalc("sweep", *LINE.split(), *options, "--format", "json").out)
    assert record == json.loads(json.dumps(api.as_dict(sweep)))
    assert len(record["points"]) == 16 and record["pareto"] == ["params", "max:macs"]
    head, *lines = netcalc("sweep", *LINE.split(), *options, "--format", "csv").out.splitlines()
    assert head == "d_model,layers,heads,params,macs,cache,reason"
    assert len(lines) == 16
    assert lines[1].startswith("64,1,4,")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_files_of_rows_leave_the_page_on_standard_output(
    netcalc: Callable[..., CommandResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [*LINE.split(), "--pareto", "params,max:macs", "--top", "3"]
    output = f"rows{suffix}"
    page = netcalc("sweep", *words).out
    beside = netcalc("sweep", *words, "-o", output).out
    assert (tmp_path / output).is_file()
    lines = page.splitlines()
    place = lines.index("", 1)
    assert beside.splitlines() == [*lines[:place], f"all rows in {output}", *lines[place:]]


def test_the_chart_has_the_points_and_the_front(sweep: Sweep, tmp_path: Path) -> None:
    sweep.plot(tmp_path / "sweep.svg")
    text = (tmp_path / "sweep.svg").read_text(encoding="utf-8")
    # the points of the front are of another shape; the legend has one of each
    assert text.count('class="dot s0"') - 1 == 10 - len(sweep.front)
    assert text.count('class="dot s1"') - 1 == len(sweep.front)
    assert "d_model=64,layers=1,heads=4" in text


def test_a_front_of_nearly_all_points_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    network = api.load("gpt2", set={"heads": 4})
    # each layer adds parameters and work, so that all points are on the front
    assert len(network.sweep("layers=1:50", pareto="params,max:macs").front) == 50
    monkeypatch.setattr("netcalc.sweep.sweeping.MAX_FRONT", 49)
    found = network.sweep("layers=1:50", pareto="params,max:macs")
    assert found.front == () and found.notes == ("the front has more than 49 points, and is left out",)
    assert len(found.best) == 10 and "Pareto front" not in str(found)


def test_progress_ends_at_the_number_of_points() -> None:
    told: list[tuple[int, int]] = []
    api.load("mlp").sweep("batch=1:600", progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (600, 600) and told == sorted(told)


def test_results_can_be_pickled(sweep: Sweep) -> None:
    again: Any = pickle.loads(pickle.dumps(sweep))
    assert again.to_dict() == sweep.to_dict()


def test_a_sweep_whose_points_are_all_refused_says_why(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("sweep", "gpt2", "--over", "d_model=100,101", "--over", "heads=3", "--pareto", "params,macs")
    assert ran.code == 0 and "2 points; 2 refused" in ran.out
    assert ran.out.endswith("for d_model = 100, heads = 3\nno point has figures\n")
    found = api.load("gpt2").sweep({"d_model": [100, 101], "heads": [3]})
    assert found.best == () and np.isnan(found.columns["params"]).all() and len(found.accepted["params"]) == 0
