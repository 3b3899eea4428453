"""Processes that share the work of a pass: they give the same bits, come and go unnoticed, and hold nothing open."""

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
from netcalc.engine.runtime import session as module
from netcalc.engine.runtime.session import Session
from netcalc.engine.runtime.workers import SerialPool
from netcalc.numerics.inputs import run_inputs
from tests.engine.test_session import session
from tests.numerics.programs import program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux")

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


def made(threads: int = 3, text: str = NETWORK) -> Session:
    return session(program(text), threads, processes=True)


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE}


def comes_true(found: Callable[[], bool]) -> bool:
    """Within a few seconds."""
    end = monotonic() + 10
    while not found() and monotonic() < end:
        sleep(0.02)
    return found()


@pytest.fixture
def before() -> set[int]:
    return children()


def test_the_same_bits_as_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = run_inputs(program(NETWORK))
    shared = made()(inputs)
    alone = made()
    monkeypatch.setattr(module, "_pool_type", lambda processes: SerialPool)
    for one, other in zip(shared, alone(inputs), strict=True):
        np.testing.assert_array_equal(one, other)


def test_they_come_with_the_first_pass_and_go_with_the_session(before: set[int]) -> None:
    one = made(4)
    assert not children() - before
    one(run_inputs(program(NETWORK)))
    assert len(children() - before) == 3
    del one
    assert comes_true(lambda: not children() - before)


def test_there_are_none_where_nothing_is_shared(before: set[int]) -> None:
    small = made(text="inputs: {x: [2, 3]}\nlayers: [relu]")
    small(run_inputs(small.plan.program))
    assert not children() - before


def test_a_pass_outlives_them(before: set[int]) -> None:
    """The caller does the part of a worker that has ended, and the next pass has new workers."""
    one, inputs = made(), run_inputs(program(NETWORK))
    wanted = one(inputs)
    (first, *_) = children() - before
    os.kill(first, signal.SIGKILL)
    for _ in range(2):
        np.testing.assert_array_equal(one(inputs)[0], wanted[0])
    assert len(children() - before) == 2
    assert first not in children()


@pytest.mark.parametrize("place", [0, 3999])
def test_what_only_numbers_show_a_worker_is_said_by_the_caller(place: int) -> None:
    one = made(2, IDS)
    ids = np.ones(4000, np.int64)
    good = one([ids])
    ids[place] = 9
    with pytest.raises(NetcalcError, match="table: id 9 is out of range"):
        one([ids])
    ids[place] = 1
    np.testing.assert_array_equal(one([ids])[0], good[0])


def test_an_interrupted_pass_leaves_none(before: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    one, inputs = made(), run_inputs(program(NETWORK))
    wanted = one(inputs)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        one(inputs, interrupt)
    np.testing.assert_array_equal(one(inputs)[0], wanted[0])
    monkeypatch.setattr(one, "_own_parts", [interrupt] * len(one._own_parts))
    with pytest.raises(KeyboardInterrupt):
        one(inputs)
    assert comes_true(lambda: not children() - before)


def test_without_room_for_one_more_the_caller_is_alone(before: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = run_inputs(program(NETWORK))
    wanted = made()(inputs)
    one, real = made(), os.fork
    made_so_far: list[int] = []

    def fork() -> int:
        if made_so_far:
            raise BlockingIOError("Resource temporarily unavailable")
        made_so_far.append(real())
        return made_so_far[0]

    monkeypatch.setattr(os, "fork", fork)
    np.testing.assert_array_equal(one(inputs)[0], wanted[0])
    assert comes_true(lambda: made_so_far[0] not in children())


def test_a_fork_whose_warning_is_an_error_leaves_no_worker(before: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """CPython 3.12 and later raise it after the process is made, if warnings are errors."""
    one, real = made(2), os.fork
    forked: list[int] = []

    def fork() -> int:
        forked.append(real())
        if forked[0]:
            raise DeprecationWarning("multi-threaded")
        return 0

    monkeypatch.setattr(os, "fork", fork)
    with pytest.raises(DeprecationWarning):
        one(run_inputs(program(NETWORK)))
    assert comes_true(lambda: forked[0] not in children())
    os.waitpid(forked[0], 0)


def test_they_hold_no_file_open() -> None:
    """A pipe that this process closes is closed."""
    reader, writer = os.pipe()
    one = made()
    one(run_inputs(program(NETWORK)))
    os.close(writer)
    os.set_blocking(reader, False)
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_a_copy_of_the_process_has_its_own() -> None:
    """As of a pool that is made after the session: neither disturbs the other."""
    one, inputs = made(), run_inputs(program(NETWORK))
    wanted = one(inputs)[0]
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            for _ in range(20):
                np.testing.assert_array_equal(one([2 * array for array in inputs])[0].shape, wanted.shape)
            np.testing.assert_array_equal(one(inputs)[0], wanted)
            status = 0
        finally:
            os.write(writer, b"x")
            os._exit(status)
    for _ in range(20):
        np.testing.assert_array_equal(one(inputs)[0], wanted)
    assert os.read(reader, 1) == b"x"
    assert os.waitpid(pid, 0)[1] == 0
    np.testing.assert_array_equal(one(inputs)[0], wanted)
    os.close(reader)
    os.close(writer)


def test_they_end_with_their_owner() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) == 2, done.stderr
    assert comes_true(lambda: not any(psutil.pid_exists(pid) for pid in pids))
