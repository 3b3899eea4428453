"""Sweeps on a cluster of Ray: a head with two processors on the loopback."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.clusters.programs import (
    OVER,
    KillOnce,
    free_port,
    has_said,
    network_without_files,
    program,
    refuse_work,
    wait_until,
)
from tests.conftest import CommandResult

pytest.importorskip("ray")
pytest.importorskip("grpc")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, psutil.Process]]:
    """The address of a cluster, and the process that started the others."""
    port, server = free_port(), free_port()
    words = (
        *("start", "--head", "--block", "--num-cpus", "2", "--port", str(port), "--node-ip-address", "127.0.0.1"),
        *("--ray-client-server-port", str(server), "--include-dashboard", "false", "--disable-usage-stats"),
    )
    folder = tmp_path_factory.mktemp("ray")
    with program(str(Path(sys.executable).with_name("ray")), *words, folder=folder) as process:
        wait_until(lambda: has_said(folder, "Ray runtime started"))
        yield f"ray://127.0.0.1:{server}", psutil.Process(process.pid)


def test_a_worker_that_is_killed_changes_no_byte_of_the_file(
    cluster: tuple[str, psutil.Process], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, head = cluster
    network = network_without_files(tmp_path)
    network.sweep(OVER, output=str(tmp_path / "serial.csv"))
    refuse_work(monkeypatch)

    def worker() -> psutil.Process:
        return next(each for each in head.children(recursive=True) if "PoolActor" in " ".join(each.cmdline()))

    kill = KillOnce(worker)
    network.sweep(OVER, output=str(tmp_path / "ray.csv"), on=address, progress=kill)
    assert (tmp_path / "ray.csv").read_bytes() == (tmp_path / "serial.csv").read_bytes()
    assert kill.killed_at is not None and kill.killed_at < 2_400


def test_a_cluster_that_is_not_there_is_one_error(tmp_path: Path, netcalc: Callable[..., CommandResult]) -> None:
    place = f"ray://127.0.0.1:{free_port()}"
    ran = netcalc("sweep", "mlp", "--over", "features=1:100", "-o", str(tmp_path / "rows.csv"), "--on", place)
    assert ran.code == 2 and f"--on {place}: the cluster cannot be reached" in ran.err
    assert not [*tmp_path.glob("rows*")]
