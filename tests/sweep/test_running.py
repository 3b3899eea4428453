"""Sweeps in several processes, stopped and continued: their rows against those of one process that is not stopped."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from functools import wraps
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyarrow import parquet

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.request import Request
from netcalc.sweep import backends, evaluation, running
from netcalc.sweep.evaluation import Evaluated
from netcalc.sweep.manifest import manifest
from netcalc.sweep.parquet import write_part
from netcalc.sweep.parts import Folder, part_format
from netcalc.sweep.plan import Plan
from netcalc.sweep.preparation import plan_of
from netcalc.sweep.recipe import Chunk, Evaluation, Recipe
from netcalc.sweep.running import run

PARENT = """netcalc: 1
vars: {width: 8, groups: 2}
require: [{that: "width % groups == 0", message: "width divides into groups"}]
import: [cells]
inputs: {x: [batch, width]}
dims: {batch: 1}
layers:
- cell: {out: "${width * groups}"}
"""
CELLS = """netcalc: 1
blocks:
  cell:
    args: {out: int}
    inputs: [x]
    layers:
    - linear: {out: "${out}"}
    - relu
"""
OVER = {"width": range(1, 31), "groups": range(1, 21)}
FIGURES = ("params", "macs")


@pytest.fixture
def request_(tmp_path: Path) -> Request:
    """A spec that extends another with a block of a third; none of the files is there any more."""
    files = {"base.yaml": PARENT, "cells.yaml": CELLS, "net.yaml": "netcalc: 1\nextends: base\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    network = netcalc.load(tmp_path / "net.yaml")
    for name in files:
        (tmp_path / name).unlink()
    return network.request


@pytest.fixture(autouse=True)
def _started_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start processes at once, also for short sweeps."""
    monkeypatch.setattr(backends, "_START", 0.0)


def test_a_short_sweep_starts_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_: Request) -> None:
    one = _written(request_, tmp_path / "one.csv")

    class Unused(backends.Pool):
        def evaluated(self, recipe: Recipe, chunks: Iterable[range]) -> Iterator[Evaluation]:
            raise AssertionError("processes are started")

    for seconds, is_started in ((60.0, False), (1e-9, True)):
        pool = Unused(2, lambda: "loky", (), seconds)
        monkeypatch.setattr(running, "opened", lambda workers, on, pool=pool: nullcontext(pool))
        output = tmp_path / f"{seconds}.csv"
        if is_started:
            with pytest.raises(AssertionError, match="processes are started"):
                _written(request_, output)
        else:
            assert _written(request_, output) == one


def swept(request: Request, plan: Plan, figures: tuple[str, ...], **options: Any) -> Iterator[Chunk]:
    """Return the chunks of a sweep whose parts are beside a file, which is merged at the end."""
    output, resume = options.pop("output"), options.pop("resume", False)
    recipe = Recipe.of(request, plan, figures)
    record = manifest(recipe, plan, request, part_format(output))
    folder = Folder.opened(Path(f"{output}.parts"), plan, record, resume)
    return _merged(run(recipe, plan, folder=folder, **options), folder, output)


def _merged(chunks: Iterator[Chunk], folder: Folder, output: str) -> Iterator[Chunk]:
    yield from chunks
    folder.merge(output)


def _written(request: Request, output: Path, over: Any = OVER, **options: Any) -> bytes:
    """Return the file of a sweep, whose chunks are in their order."""
    plan = plan_of(request, over)
    place = 0
    for chunk in swept(request, plan, FIGURES, output=str(output), **options):
        assert chunk.start == place
        place = chunk.stop
    assert place == len(plan)
    assert not output.with_name(f"{output.name}.parts").exists()
    return output.read_bytes()


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_two_processes_write_the_file_of_one(tmp_path: Path, request_: Request, suffix: str) -> None:
    one = _written(request_, tmp_path / f"one{suffix}")
    assert _written(request_, tmp_path / f"two{suffix}", workers=2) == one


def test_this_process_counts_beside_those_that_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_: Request
) -> None:
    here: list[range] = []
    evaluated = Recipe.evaluated

    @wraps(evaluated)
    def noted(self: Recipe, start: int, stop: int) -> Evaluation:
        here.append(range(start, stop))
        return evaluated(self, start, stop)

    monkeypatch.setattr(Recipe, "evaluated", noted)  # in this process alone
    _written(request_, tmp_path / "two.csv", workers=2)
    assert 0 < sum(map(len, here)) < len(plan_of(request_, OVER))


def test_rows_have_the_figures_of_arithmetic(tmp_path: Path, request_: Request) -> None:
    lines = _written(request_, tmp_path / "out.csv").decode().splitlines()
    rows = list(csv.DictReader(lines))
    assert [(row["width"], row["groups"]) for row in rows[:21]] == [*(("1", str(g)) for g in range(1, 21)), ("2", "1")]
    for row in rows:
        width, groups = int(row["width"]), int(row["groups"])
        if width % groups:
            assert row["params"] == row["macs"] == "" and row["reason"].startswith("E108: ")
        else:
            macs = width * width * groups
            assert (int(row["params"]), int(row["macs"]), row["reason"]) == (macs + width * groups, macs, "")
    read = [json.loads(line) for line in _written(request_, tmp_path / "out.jsonl").splitlines()]
    table = _table(tmp_path, request_)
    assert read == table.to_pylist()
    assert [{name: "" if value is None else str(value) for name, value in row.items()} for row in read] == rows


def _table(folder: Path, request: Request) -> Any:
    _written(request, folder / "out.parquet")
    return parquet.read_table(folder / "out.parquet")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_sweep_that_was_stopped_goes_on_with_its_parts(tmp_path: Path, request_: Request, suffix: str) -> None:
    expected = _written(request_, tmp_path / f"expected{suffix}")
    output = tmp_path / f"out{suffix}"
    chunks = swept(request_, plan_of(request_, OVER), FIGURES, output=str(output), workers=2)
    for _ in range(3):
        next(chunks)
    chunks.close()  # type: ignore[attr-defined]
    assert not output.exists()
    parts = {path.name: path.read_bytes() for path in (tmp_path / f"out{suffix}.parts").glob("points-*")}
    assert len(parts) >= 3
    with pytest.raises(NetcalcError, match=r"E502: .*\.parts has parts of this sweep, which was stopped \(--resume"):
        swept(request_, plan_of(request_, OVER), FIGURES, output=str(output))
    done = []
    assert _written(request_, output, resume=True, progress=lambda *now: done.append(now)) == expected
    assert done[0] == (sum(len(range(*map(int, Path(name).stem.split("-")[1:]))) for name in parts), 600)
    assert done[-1] == (600, 600)


#: A sweep whose process kills itself once two chunks are written.
KILLED = """import os, signal, netcalc
def kill(done, total):
    if sum(path.startswith("points-") for path in os.listdir("out.csv.parts")) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
netcalc.load("mlp").sweep(["features=1:100", "classes=1:20"], output="out.csv", progress=kill)
"""


def test_a_process_that_was_killed_leaves_complete_parts(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-P", "-c", KILLED], cwd=tmp_path, check=False)
    assert killed.returncode == -signal.SIGKILL
    command = "sweep mlp --over features=1:100 --over classes=1:20 -o out.csv"
    arguments = [sys.executable, "-P", "-m", "netcalc", *command.split()]
    stopped = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert stopped.returncode == 2 and "[E502]: out.csv.parts has parts of this sweep" in stopped.stderr
    subprocess.run([*arguments, "--resume"], cwd=tmp_path, stdout=subprocess.DEVNULL, check=True)
    netcalc.load("mlp").sweep(
        ["features=1:100", "classes=1:20"], output=str(tmp_path / "expected.csv")
    )  # in one process, without a stop
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["expected.csv", "out.csv"]


def test_chunks_of_a_lost_process_are_evaluated_again(tmp_path: Path) -> None:
    request = netcalc.load("mlp").request
    over = {"features": range(1, 51), "classes": range(1, 21)}
    killed: list[int] = []

    def kill_one(done: int, total: int) -> None:
        if done > 100 and not killed:
            workers = [child for child in psutil.Process().children() if "popen_loky" in " ".join(child.cmdline())]
            assert len(workers) == 1  # this process is the other one
            workers[0].kill()
            killed.append(workers[0].pid)

    expected = _written(request, tmp_path / "one.csv", over)
    assert _written(request, tmp_path / "two.csv", over, workers=2, progress=kill_one) == expected
    assert killed


def test_workers_that_end_again_and_again_are_one_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request_: Request
) -> None:
    class Lost(backends.Pool):
        def evaluated(self, recipe: Recipe, chunks: Iterable[range]) -> Iterator[Evaluation]:
            places = next(iter(chunks))
            if not places.start:
                yield recipe.evaluated(places.start, places.stop)
            raise BrokenPipeError("a worker was killed")

    monkeypatch.setattr(running, "opened", lambda workers, on: nullcontext(Lost(2, losses=(BrokenPipeError,))))
    with pytest.raises(NetcalcError, match=r"E603: the workers were lost again .*: a worker was killed \(.*--resume"):
        list(swept(request_, plan_of(request_, OVER), FIGURES, output=str(tmp_path / "out.csv")))
    monkeypatch.undo()
    expected = _written(request_, tmp_path / "expected.csv")
    assert _written(request_, tmp_path / "out.csv", resume=True) == expected


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"figures": ("params", "flops")}, "its figures is params, macs"),
        ({"over": {**OVER, "groups": range(1, 20)}}, "another range"),
        ({"request": {"batch": 2}}, "another setting"),
        ({"request": "changed"}, "another spec"),
        ({"version": "0.0.9"}, f"its version of netcalc is {netcalc.__version__}"),
    ],
)
def test_parts_of_another_sweep_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_: Request, change: dict[str, Any], named: str
) -> None:
    chunks = swept(request_, plan_of(request_, OVER), FIGURES, output=str(tmp_path / "out.csv"))
    next(chunks)
    chunks.close()  # type: ignore[attr-defined]
    other = request_
    if change.get("request") == "changed":
        (tmp_path / "net.yaml").write_text("netcalc: 1\nextends: base\n")
        (tmp_path / "base.yaml").write_text(PARENT)
        (tmp_path / "cells.yaml").write_text(CELLS.replace("relu", "gelu"))  # in a block that is imported
        other = netcalc.load(tmp_path / "net.yaml").request
    elif "request" in change:
        other = request_.with_settings(change["request"])
    if "version" in change:
        monkeypatch.setattr("netcalc.sweep.recipe.__version__", change["version"])
    with pytest.raises(NetcalcError, match=rf"^E502: .*has the parts of another sweep: {named} \(choose another -o"):
        swept(
            other,
            plan_of(other, change.get("over", OVER)),
            change.get("figures", FIGURES),
            output=str(tmp_path / "out.csv"),
            resume=True,
        )


def test_another_folder_is_refused(tmp_path: Path, request_: Request) -> None:
    (tmp_path / "out.csv.parts").mkdir()
    (tmp_path / "out.csv.parts" / "diary.txt").write_text("")
    with pytest.raises(NetcalcError, match=r"E502: .*out\.csv\.parts is not a folder of parts"):
        swept(request_, plan_of(request_, OVER), FIGURES, output=str(tmp_path / "out.csv"), resume=True)
    with pytest.raises(NetcalcError, match=r"E502: -o .*out\.xls: not a file of a sweep \(one of \.parquet"):
        swept(request_, plan_of(request_, OVER), FIGURES, output=str(tmp_path / "out.xls"))


def test_parquet_needs_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_: Request) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(NetcalcError, match=r'E502: .*needs pyarrow.*\(pip install "pyarrow>='):
        swept(request_, plan_of(request_, OVER), FIGURES, output=str(tmp_path / "out.parquet"))
    assert not list(tmp_path.iterdir())


def test_a_worker_of_another_version_is_an_error(request_: Request) -> None:
    recipe = Recipe.of(request_, plan_of(request_, OVER), FIGURES)
    older = Recipe("0.0.9", recipe.figures, recipe.content)
    message = rf"E502: --on: the sweep is one of netcalc 0\.0\.9, but workers have netcalc {netcalc.__version__}"
    for workers in (1, 2):
        with pytest.raises(NetcalcError, match=message):
            list(run(older, plan_of(request_, OVER), workers=workers))


@pytest.mark.parametrize(
    ("on", "message"),
    [
        ("dask:127.0.0.1", "not an address of a cluster"),
        ("ssh://127.0.0.1:22", "not an address of a cluster"),
        ("dask://127.0.0.1:99999", "not an address of a cluster"),
    ],
)
def test_malformed_addresses_are_errors_before_any_work(
    tmp_path: Path, request_: Request, on: str, message: str
) -> None:
    with pytest.raises(NetcalcError, match=f"E502: --on {on}: {message}"):
        swept(request_, plan_of(request_, OVER), FIGURES, output=str(tmp_path / "out.csv"), on=on)
    assert not list(tmp_path.iterdir())


class Wide:
    """Figures of any size: powers of ten."""

    def __init__(self, request: Request, figures: tuple[str, ...], names: tuple[str, ...]) -> None:
        self.figures = figures

    def evaluate(self, columns: Any) -> Evaluated:
        widths = columns["width"]
        found = {
            "params": [10 ** (width % 30) for width in widths],
            "macs": [10**width if width % 2 else None for width in widths],
        }
        return Evaluated(found, [None if width % 2 else "E108: even" for width in widths])


def test_integers_of_any_size_are_written_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_: Request
) -> None:
    monkeypatch.setattr(evaluation, "Evaluator", Wide)
    monkeypatch.setattr(running, "_FIRST", 7)
    plan = Plan({"width": range(1, 60), "share": (1, 0.5, 2), "name": ("a", True, 3)})
    recipe = [*swept(request_, plan, FIGURES, output=str(tmp_path / "out.parquet"))]
    table = parquet.read_table(tmp_path / "out.parquet")
    assert {field.name: str(field.type) for field in table.schema} == {
        "width": "int64",
        "share": "double",
        "name": "string",
        "params": "decimal128(38, 0)",
        "macs": "string",
        "reason": "string",
    }
    rows = table.to_pylist()
    assert len(rows) == sum(chunk.stop - chunk.start for chunk in recipe) == 59 * 9
    assert [int(row["params"]) for row in rows] == [10 ** (row["width"] % 30) for row in rows]
    assert {row["macs"] for row in rows} == {str(10**width) for width in range(1, 60, 2)} | {None}
    assert [row["name"] for row in rows[:3]] == ["a", "true", "3"]


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([2**63 - 1, -(2**63), None], "int64"),
        ([2**63, 1], "decimal128(38, 0)"),
        ([10**38 - 1], "decimal128(38, 0)"),
        ([10**38], "string"),
        ([2**53, 0.1], "double"),
        ([2**53 + 1, 0.1], "string"),
        ([True, False], "bool"),
        ([True, 1], "string"),
        ([None], "int64"),
    ],
)
def test_the_type_of_a_column_holds_all_of_its_values(tmp_path: Path, values: list[Any], type_: str) -> None:
    write_part(tmp_path / "part.parquet", {"value": values})
    column = parquet.read_table(tmp_path / "part.parquet").column("value")
    assert str(column.type) == type_
    read = [json.loads(value) if isinstance(value, str) else value for value in column.to_pylist()]
    assert read == values


def test_memory_does_not_grow_with_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_: Request) -> None:
    monkeypatch.setattr(evaluation, "Evaluator", Wide)
    monkeypatch.setattr(running, "_MOST", 2_000)

    def peak(points: int) -> int:
        plan = Plan({"width": range(1, 21), "place": range(points // 20)})
        tracemalloc.start()
        count = sum(len(chunk.reasons) for chunk in swept(request_, plan, FIGURES, output=str(tmp_path / "out.csv")))
        assert count == points
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(4_000)
    assert peak(30_000) < 1.3 * peak(6_000)
