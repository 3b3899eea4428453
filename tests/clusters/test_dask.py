"""Sweeps on a cluster of Dask: a scheduler and two worker processes on the loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from netcalc.diagnostics import NetcalcError
from tests.clusters.programs import (
    OVER,
    KillOnce,
    dask_scheduler,
    dask_worker,
    free_port,
    network_without_files,
    other_version,
    refuse_work,
    wait_until,
    workers_of_dask,
)
from tests.conftest import CommandResult

pytest.importorskip("dask")
pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[psutil.Process]]]:
    """The address of a cluster with two worker processes, and its processes, the scheduler first."""
    folder = tmp_path_factory.mktemp("dask")
    with ExitStack() as stack:
        address, scheduler = stack.enter_context(dask_scheduler(folder))
        workers = [stack.enter_context(dask_worker(folder, address)) for _ in range(2)]
        wait_until(lambda: workers_of_dask(address) == 2)
        yield address, [psutil.Process(process.pid) for process in (scheduler, *workers)]


def test_another_version_on_a_worker_is_an_error_before_any_work(
    cluster: tuple[str, list[psutil.Process]], tmp_path: Path, netcalc: Callable[..., CommandResult]
) -> None:
    address, _ = cluster
    rows = tmp_path / "rows.csv"
    (tmp_path / "modules").mkdir()
    with dask_worker(tmp_path, address, PYTHONPATH=other_version(tmp_path / "modules")):
        wait_until(lambda: workers_of_dask(address) == 3)
        ran = netcalc("sweep", "mlp", "--over", "features=1:100", "-o", str(rows), "--on", address)
    assert ran.code == 2 and "but workers have netcalc 0.0.9" in ran.err
    assert ran.err.count("error[") == 1
    assert not rows.exists() and not rows.with_name("rows.csv.parts").exists()


def test_a_worker_that_is_killed_changes_no_byte_of_the_file(
    cluster: tuple[str, list[psutil.Process]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, processes = cluster
    network = network_without_files(tmp_path)
    network.sweep(OVER, output=str(tmp_path / "serial.parquet"))
    refuse_work(monkeypatch)
    kill = KillOnce(lambda: processes[1])
    sweep = network.sweep(OVER, output=str(tmp_path / "dask.parquet"), on=address, progress=kill)
    assert (tmp_path / "dask.parquet").read_bytes() == (tmp_path / "serial.parquet").read_bytes()
    assert kill.killed_at is not None and kill.killed_at < sweep.count
    assert not processes[1].is_running() or processes[1].status() == psutil.STATUS_ZOMBIE
    assert not (tmp_path / "dask.parquet.parts").exists()


# the last: nothing is left of the cluster
def test_a_sweep_whose_scheduler_is_lost_goes_on_elsewhere(
    cluster: tuple[str, list[psutil.Process]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netcalc.sweep.running._SECONDS", 0.1)  # most points are not on their way when it is lost
    address, processes = cluster
    network = network_without_files(tmp_path)
    over = ["width=1:120", *OVER[1:]]
    with monkeypatch.context() as elsewhere, pytest.raises(NetcalcError, match=r"E603: .*--resume"):
        refuse_work(elsewhere)
        network.sweep(over, output=str(tmp_path / "rows.csv"), on=address, progress=KillOnce(lambda: processes[0]))
    parts = [*(tmp_path / "rows.csv.parts").glob("points-*")]
    assert parts and not (tmp_path / "rows.csv").exists()
    network.sweep(over, output=str(tmp_path / "rows.csv"), resume=True)
    network.sweep(over, output=str(tmp_path / "serial.csv"))
    assert (tmp_path / "rows.csv").read_bytes() == (tmp_path / "serial.csv").read_bytes()


def test_a_cluster_that_is_not_there_is_one_error(tmp_path: Path, netcalc: Callable[..., CommandResult]) -> None:
    place = f"dask://127.0.0.1:{free_port()}"
    rows = tmp_path / "rows.csv"
    ran = netcalc("sweep", "mlp", "--over", "features=1:100", "-o", str(rows), "--on", place)
    assert ran.code == 2 and f"--on {place}: the cluster cannot be reached" in ran.err
    assert ran.err.count("error[") == 1
    assert not [*tmp_path.glob("rows*")]
