"""Worker processes of a session: identical results, recovery from failures, and release of resources."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from time import monotonic, sleep

import numpy as np
import psutil
import pytest

from netcalc.diagnostics import NetcalcError
from netcalc.engine.runtime import processes
from netcalc.engine.runtime import session as module
from netcalc.engine.runtime.session import Session
from netcalc.engine.runtime.workers import Part, SerialPool
from netcalc.numerics.inputs import run_inputs
from tests.engine.child_processes import child_processes
from tests.engine.test_session import session
from tests.numerics.programs import program

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not processes.shares_jobs(), reason="processes are copied on Linux, with the library"
)

NETWORK = """
inputs: {x: [3, 3, 20, 20]}
layers:
  - {conv2d: {out: 64, kernel: 3, padding: 1}}
  - relu
  - {conv2d: {out: 64, kernel: 3, padding: 1}}
  - {max_pool2d: 2}
  - {flatten: {}}
  - {linear: 600}
  - {layer_norm: {}}
  - {softmax: {}}
"""
#: A network without recurrent layers, whose rounds every worker has a part in.
TOKENS = """
inputs: {x: [2, 100, 256]}
layers:
  - {linear: 1024}
  - gelu
  - {linear: 256}
  - {layer_norm: {}}
  - {transpose: [1, 2]}
  - {linear: 300}
  - {softmax: {}}
"""
IDS = """
inputs: {ids: {shape: [4000], dtype: int64}}
layers: [{name: table, embedding: {num_embeddings: 5, embedding_dim: 4}}, {linear: 3}]
"""
SCRIPT = """
import os, signal, sys, psutil, netcalc
session = netcalc.load("mlp", set={"batch": 500}).compile(threads=3, processes=True)
session()
print(*(child.pid for child in psutil.Process().children()), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def forking_session(threads: int = 3, text: str = NETWORK) -> Session:
    return session(program(text), threads, processes=True)


def becomes_true(condition: Callable[[], bool]) -> bool:
    """Return True if the condition becomes true within ten seconds."""
    end = monotonic() + 10
    while not condition() and monotonic() < end:
        sleep(0.02)
    return condition()


@pytest.fixture
def existing() -> set[int]:
    return child_processes()


def test_results_are_bitwise_those_of_a_single_process(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = run_inputs(program(NETWORK))
    shared = forking_session()(inputs)
    alone = forking_session()
    monkeypatch.setattr(module, "_pool_type", lambda processes: SerialPool)
    for one, other in zip(shared, alone(inputs), strict=True):
        np.testing.assert_array_equal(one, other)


def test_threads_take_their_place_without_the_library(existing: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = run_inputs(program(NETWORK))
    expected = forking_session()(inputs)
    monkeypatch.setattr(processes, "shares_jobs", lambda: False)
    for one, other in zip(forking_session()(inputs), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not child_processes() - existing


def test_workers_start_with_the_first_pass_and_end_with_the_session(existing: set[int]) -> None:
    one = forking_session(4)
    assert not child_processes() - existing
    one(run_inputs(program(NETWORK)))
    assert len(child_processes() - existing) == 3
    del one
    assert becomes_true(lambda: not child_processes() - existing)


def test_no_workers_start_if_no_step_is_split(existing: set[int]) -> None:
    small = forking_session(text="inputs: {x: [2, 3]}\nlayers: [relu]")
    small(run_inputs(small.plan.program))
    assert not child_processes() - existing


def test_a_pass_survives_the_death_of_a_worker(existing: set[int]) -> None:
    """Others do the work of a worker that was killed, and new workers start once its end is known."""
    one, inputs = forking_session(), run_inputs(program(NETWORK))
    expected = one(inputs)
    (first, *_) = child_processes() - existing
    os.kill(first, signal.SIGKILL)

    def replaced() -> bool:
        np.testing.assert_array_equal(one(inputs)[0], expected[0])
        return len(child_processes() - existing) == 2 and first not in child_processes()

    assert becomes_true(replaced)


@pytest.mark.parametrize("threads", [2, 3])
def test_jobs_of_a_worker_that_does_not_run_are_taken_over(existing: set[int], threads: int) -> None:
    """A pass ends with the same bits while a worker is stopped, and after it has gone on."""
    one, inputs = forking_session(threads, TOKENS), run_inputs(program(TOKENS))
    expected = one(inputs)
    (stopped, *_) = child_processes() - existing
    for _ in range(3):
        sleep(0.6)  # workers have begun no job between passes
        os.kill(stopped, signal.SIGSTOP)
        try:
            for _ in range(3):
                np.testing.assert_array_equal(one(inputs)[0], expected[0])
        finally:
            os.kill(stopped, signal.SIGCONT)
        for _ in range(20):
            np.testing.assert_array_equal(one(inputs)[0], expected[0])
    assert stopped in child_processes()


@pytest.mark.parametrize("place", [0, 3999])
def test_an_error_in_a_worker_is_raised_by_the_caller(place: int) -> None:
    one = forking_session(2, IDS)
    ids = np.ones(4000, np.int64)
    good = one([ids])
    ids[place] = 9
    with pytest.raises(NetcalcError, match="table: id 9 is out of range"):
        one([ids])
    ids[place] = 1
    np.testing.assert_array_equal(one([ids])[0], good[0])


def test_an_interrupted_pass_leaves_no_workers(existing: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    one, inputs = forking_session(), run_inputs(program(NETWORK))
    expected = one(inputs)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        one(inputs, interrupt)
    np.testing.assert_array_equal(one(inputs)[0], expected[0])
    monkeypatch.setattr(one, "_own_parts", [Part(range(1), 0, lambda _: interrupt)] * len(one._own_parts))
    with pytest.raises(KeyboardInterrupt):
        one(inputs)
    assert becomes_true(lambda: not child_processes() - existing)


def test_a_failed_fork_leaves_the_caller_to_do_all_work(existing: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = run_inputs(program(NETWORK))
    expected = forking_session()(inputs)
    one, real = forking_session(), os.fork
    forked: list[int] = []

    def fork() -> int:
        if forked:
            raise BlockingIOError("Resource temporarily unavailable")
        forked.append(real())
        return forked[0]

    monkeypatch.setattr(os, "fork", fork)
    np.testing.assert_array_equal(one(inputs)[0], expected[0])
    assert becomes_true(lambda: forked[0] not in child_processes())


def test_a_fork_whose_warning_is_an_error_leaves_no_worker(existing: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """CPython 3.12 and later warn after the fork; if warnings are errors, the child already exists."""
    one, real = forking_session(2), os.fork
    forked: list[int] = []

    def fork() -> int:
        forked.append(real())
        if forked[0]:
            raise DeprecationWarning("multi-threaded")
        return 0

    monkeypatch.setattr(os, "fork", fork)
    with pytest.raises(DeprecationWarning):
        one(run_inputs(program(NETWORK)))
    assert becomes_true(lambda: forked[0] not in child_processes())
    os.waitpid(forked[0], 0)


def test_workers_hold_no_file_open() -> None:
    """Workers close inherited file descriptors, so that a closed pipe signals its end."""
    reader, writer = os.pipe()
    one = forking_session()
    one(run_inputs(program(NETWORK)))
    os.close(writer)
    os.set_blocking(reader, False)
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_a_forked_caller_has_its_own_workers() -> None:
    """Parent and forked child use the same session without disturbing each other."""
    one, inputs = forking_session(), run_inputs(program(NETWORK))
    expected = one(inputs)[0]
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            for _ in range(20):
                np.testing.assert_array_equal(one([2 * array for array in inputs])[0].shape, expected.shape)
            np.testing.assert_array_equal(one(inputs)[0], expected)
            status = 0
        finally:
            os.write(writer, b"x")
            os._exit(status)
    for _ in range(20):
        np.testing.assert_array_equal(one(inputs)[0], expected)
    assert os.read(reader, 1) == b"x"
    assert os.waitpid(pid, 0)[1] == 0
    np.testing.assert_array_equal(one(inputs)[0], expected)
    os.close(reader)
    os.close(writer)


def test_workers_end_with_a_killed_parent() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) == 2, done.stderr
    assert becomes_true(lambda: not any(psutil.pid_exists(pid) for pid in pids))
