"""Figures of the benchmarks: means, targets and limits from made-up cases, rounds from times, and the models."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

import netcalc

FOLDER = Path(__file__).parent.parent / "benchmarks"
MIB = 1 << 20


def imported(name: str) -> Any:
    """Import a module of the benchmarks, which are scripts and no package."""
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


figures, models = imported("figures"), imported("models")


def case(model: str, batch: int, threads: int, torch: float | None, peak: int = 100) -> dict[str, Any]:
    """Return a case in which netcalc has this speed compared with torch, which fails if it is None."""
    own = {"peak_bytes": peak * MIB, "predicted_bytes": 100 * MIB, "speed_against": {"torch": torch} if torch else {}}
    peer: dict[str, Any] = {} if torch else {"error": "it does not run"}
    return {"model": model, "batch": batch, "threads": threads, "engines": {"netcalc": own, "torch": peer}}


CASES = [case("a", 1, 1, 1.0), case("a", 8, 1, 4.0), case("b", 1, 1, 0.8), case("b", 8, 1, 0.8), case("a", 1, 2, 3.0)]


def test_speeds_are_averaged_by_network_and_threads() -> None:
    found = figures.networks(CASES)
    assert (found["a"]["1 thread"]["torch"], found["b"]["1 thread"]["torch"]) == (2.0, 0.8)
    assert found["a"]["2 threads"]["torch"] == 3.0
    assert figures.means(CASES)["torch"] == pytest.approx(
        {"1 thread": 1.265, "2 threads": 3.0, "batch 1": 1.339, "batch 8": 1.789, "all": 1.503}
    )


def test_targets_name_the_lowest_network() -> None:
    rows = {row["name"]: row for row in figures.targets(CASES)}
    mean, lowest = rows["speed / torch, 1 thread"], rows["speed / torch, 1 thread, lowest network"]
    assert (mean["target"], mean["met"]) == (1.5, False)
    assert (lowest["target"], lowest["value"], lowest["case"], lowest["met"]) == (1.0, 0.8, "b", False)
    assert rows["speed / torch, 2 threads"]["met"]


def test_targets_of_a_limited_instruction_set_are_against_torch_alone() -> None:
    rows = figures.targets([each | {"isa": "avx2"} for each in CASES])
    speeds = {row["name"]: row["target"] for row in rows if row["name"].startswith("speed")}
    assert speeds["speed / torch, 2 threads"] == 1.3
    assert not any("onnxruntime" in name for name in speeds)


def test_a_failing_peer_is_left_out_and_named() -> None:
    cases = [case("a", 1, 1, 2.0), case("b", 1, 1, None)]
    assert figures.means(cases)["torch"]["all"] == 2.0
    assert figures.left_out(cases) == {"b, batch 1, 1 thread: torch": "it does not run"}


def test_a_failure_of_netcalc_counts_as_no_speed() -> None:
    failed = {"model": "b", "batch": 1, "threads": 1, "engines": {"netcalc": {"error": "fails"}, "torch": {}}}
    assert figures.means([case("a", 1, 1, 2.0), failed])["torch"]["all"] == 0.0


@pytest.mark.parametrize(("threads", "allowed"), [(1, 170), (2, 190), (4, 230)])
def test_memory_may_exceed_the_prediction_by_the_process_and_its_workers(threads: int, allowed: int) -> None:
    assert figures.memory_limit(case("a", 1, threads, 1.0)) == pytest.approx(allowed * MIB)
    row = figures.targets([case("a", 1, threads, 1.0, peak) for peak in (allowed - 1, allowed + 1)])[-1]
    assert (row["met"], row["value"]) == (False, round((allowed + 1) / allowed, 3))
    over = figures.networks([case("a", 1, threads, 1.0, allowed + 1)])["a"][figures.counted(threads)]
    assert over["memory_over_mib"] == 1.0


def test_rounds_follow_from_the_time_of_a_pass() -> None:
    pace = imported("measure").pace
    assert pace([0.001, 0.002]) == ("again", 15)
    assert pace([0.5, 0.5]) == ("again", 5)
    assert pace([5.0, 0.1]) == ("once", 3)
    assert pace([0.8]) == ("once", 10)


def test_every_model_is_a_shipped_spec() -> None:
    assert len(models.MODELS) == 52
    for name, model in models.MODELS.items():
        assert netcalc.load(name, set=model.sizes(8)).program.output_names, name
    assert {name for name, _ in models.REFERENCE} <= set(models.MODELS)
