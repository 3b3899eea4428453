"""Programs of clusters on the loopback, and a sweep of a spec whose files are no longer there."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

import netcalc

PARENT = """netcalc: 1
vars: {width: 8, groups: 2}
require: [{that: "width % groups == 0", message: "width divides into groups"}]
import: [cells]
inputs: {x: [batch, width]}
dims: {batch: 1}
layers:
- repeat: 4
  cell: {out: "${width}"}
- linear: {out: "${width * groups}"}
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
OVER = ["width=1:60", "groups=1:20", "batch=1,3"]


def network_without_files(folder: Path) -> netcalc.Network:
    """Return a network of a spec that extends another with a block of a third, all of which are removed."""
    files = {"base.yaml": PARENT, "cells.yaml": CELLS, "net.yaml": "netcalc: 1\nextends: base\n"}
    for name, text in files.items():
        (folder / name).write_text(text)
    network = netcalc.load(folder / "net.yaml")
    for name in files:
        (folder / name).unlink()
    return network


def refuse_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let evaluations in this process fail."""

    def refused(*arguments: Any) -> None:
        raise AssertionError("evaluated in this process")

    monkeypatch.setattr("netcalc.sweep.evaluation.Evaluator", refused)


class KillOnce:
    """Progress of a sweep, in whose middle a process is killed."""

    def __init__(self, find: Callable[[], psutil.Process]) -> None:
        self._find = find
        self.killed_at: int | None = None

    def __call__(self, done: int, total: int) -> None:
        if self.killed_at is None and done > total // 20:
            self._find().kill()
            self.killed_at = done


@contextmanager
def program(*words: str, folder: Path, environment: Mapping[str, str] = {}) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program until the end of the context, when its processes are ended."""
    log = folder / f"{time.monotonic_ns()}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*words], cwd=folder, stdout=file, stderr=subprocess.STDOUT, env={**os.environ, **environment}
        )
    try:
        yield process
    finally:
        ended = [*_descendants(process), process] if process.poll() is None else []
        for each in ended:
            try:
                each.kill()
            except psutil.NoSuchProcess:
                continue
        process.wait()


def _descendants(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def wait_until(reached: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until something is reached; fail after some seconds."""
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end, "the cluster does not start"
        time.sleep(0.05)


def free_port() -> int:
    """Return a port of the loopback where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@contextmanager
def dask_scheduler(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start a scheduler of Dask; give its address, as ``--on`` takes it, and its process."""
    port, place = free_port(), folder / "scheduler.json"
    words = ("--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--scheduler-file", str(place))
    with program(sys.executable, "-m", "dask", "scheduler", *words, folder=folder) as process:
        wait_until(place.exists)
        yield f"dask://127.0.0.1:{port}", process


@contextmanager
def dask_worker(folder: Path, address: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a worker process of a scheduler, which nobody starts again."""
    words = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
    place = address.replace("dask://", "tcp://")
    with program(
        sys.executable, "-m", "dask", "worker", place, *words, folder=folder, environment=environment
    ) as process:
        yield process


def has_said(folder: Path, text: str) -> bool:
    """Return True if a program in a folder has printed a text."""
    return any(text in log.read_text(errors="replace") for log in folder.glob("*.log"))


def workers_of_dask(address: str) -> int:
    """Return the number of workers that a scheduler has."""
    from distributed import Client

    with Client(address.replace("dask://", "tcp://"), set_as_default=False) as client:
        return len(client.scheduler_info()["workers"])


def other_version(folder: Path) -> str:
    """Return a path of modules by which Python has another version of netcalc."""
    (folder / "sitecustomize.py").write_text("import netcalc.version\nnetcalc.version.__version__ = '0.0.9'\n")
    return os.pathsep.join([str(folder), str(Path(netcalc.__file__).parents[1])])
