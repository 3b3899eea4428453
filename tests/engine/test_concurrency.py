"""Sessions, runs and loading in several threads, and in forked copies of the process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import netcalc
from netcalc.engine import profile
from netcalc.engine.compiled import Compiled
from netcalc.engine.lower import broadcast
from netcalc.engine.run import forward
from netcalc.engine.runtime.blas import blas_threads
from netcalc.engine.runtime.threads import ThreadPool
from netcalc.registry import Registry
from tests.engine.test_compiled import LARGE
from tests.engine.test_processes import NETWORK, becomes_true
from tests.numerics.programs import program

LINUX = sys.platform == "linux"
KINDS = [False, pytest.param(True, marks=pytest.mark.skipif(not LINUX, reason="only Linux has worker processes"))]
INPUTS = [{"x": np.random.default_rng(seed).normal(size=(3, 3, 20, 20)).astype("float32")} for seed in range(2)]


@pytest.fixture
def eager_switches() -> Iterator[None]:
    """Let the interpreter switch between threads often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(before)


def at_once(*tasks: Callable[[], Any]) -> list[Any]:
    """Return the results of functions that run in a thread each."""
    results: list[Any] = [None] * len(tasks)

    def work(number: int) -> None:
        results[number] = tasks[number]()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return results


def blas_numbers() -> list[int]:
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


@pytest.mark.usefixtures("eager_switches")
@pytest.mark.parametrize("processes", KINDS)
def test_calls_from_several_threads_take_turns(processes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "_GEMM_SIZE", 16)
    session = Compiled(program(NETWORK), threads=2, processes=processes)
    expected = [session(inputs)["output"] for inputs in INPUTS]

    def several(number: int) -> list[Any]:
        return [session(INPUTS[number])["output"] for _ in range(10)]

    *found, profiled = at_once(lambda: several(0), lambda: several(1), lambda: session.profile(INPUTS[0], passes=3))
    for outputs, right in zip(found, expected, strict=True):
        assert len(outputs) == 10
        for output in outputs:
            np.testing.assert_array_equal(output, right)
    assert profiled.passes == 3


@pytest.mark.usefixtures("eager_switches")
@pytest.mark.parametrize("processes", KINDS)
def test_sessions_in_several_threads_are_independent(processes: bool) -> None:
    net, before = program(NETWORK), blas_numbers()
    expected = [Compiled(net, seed=seed, threads=1)(INPUTS[seed])["output"] for seed in range(2)]

    def several(seed: int) -> list[Any]:
        session = Compiled(net, seed=seed, threads=2, processes=processes)
        return [session(INPUTS[seed])["output"] for _ in range(5)]

    for outputs, right in zip(at_once(lambda: several(0), lambda: several(1)), expected, strict=True):
        assert len(outputs) == 5
        for output in outputs:
            np.testing.assert_allclose(output, right, rtol=1e-5, atol=1e-6)
    assert blas_numbers() == before


@pytest.mark.usefixtures("eager_switches")
def test_runs_of_one_network_in_several_threads() -> None:
    net = program(NETWORK)
    expected = [forward(net, inputs, threads=2).outputs["output"] for inputs in INPUTS]
    runs = [lambda inputs=inputs, plan=plan: forward(net, inputs, threads=2, plan=plan).outputs["output"]
            for inputs in INPUTS for plan in ("fast", "reference")]  # fmt: skip
    for number, output in enumerate(at_once(*runs)):
        np.testing.assert_allclose(output, expected[number // 2], rtol=1e-5, atol=1e-6)


def test_an_entry_is_not_used_before_its_module_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module registers entries while it is imported, which another thread must not see."""
    (tmp_path / "slow_family.py").write_text(
        "from tests.engine import test_concurrency as test\n"
        "test.TABLE.register('a', 'b')('entry')\ntest.BEGUN.set()\ntest.PROCEED.wait(60)\ntest.ENDED.set()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    first = threading.Thread(target=lambda: TABLE.get("a"))
    first.start()
    assert BEGUN.wait(60)
    seen: list[object] = []
    second = threading.Thread(target=lambda: seen.append((TABLE.get("b"), ENDED.is_set())))
    second.start()
    second.join(0.2)
    PROCEED.set()
    for thread in (first, second):
        thread.join(60)
    assert seen == [("entry", True)]


TABLE: Registry[str] = Registry("entry", {"a": "slow_family", "b": "slow_family"})
BEGUN, PROCEED, ENDED = threading.Event(), threading.Event(), threading.Event()


def test_specs_are_loaded_in_several_threads_of_a_new_process() -> None:
    code = """
import sys, threading, netcalc
sys.setswitchinterval(1e-6)
barrier, found = threading.Barrier(3), []
def work():
    barrier.wait()
    found.append([netcalc.load(name).params for name in ("mamba-130m", "resnet18")])
threads = [threading.Thread(target=work) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(found == [[129135360, 11689512]] * 3)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(netcalc.__file__).parent.parent)}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert (ran.stdout, ran.stderr) == ("True\n", "")


def test_a_pass_that_calls_its_own_session_is_an_error() -> None:
    compiled = Compiled(program(NETWORK), threads=1)
    inputs = [INPUTS[0]["x"]]
    with pytest.raises(RuntimeError, match="during its own pass"):
        compiled._session(inputs, lambda *_: compiled(INPUTS[1]))
    np.testing.assert_array_equal(compiled(INPUTS[0])["output"], compiled._session(inputs)[0])


# -- forks and interrupts -----------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("processes", [False, True])
def test_a_forked_copy_can_call_a_session_that_another_thread_was_using(processes: bool) -> None:
    """The copy has neither that thread nor the workers."""
    session = Compiled(program(LARGE), threads=2, processes=processes and LINUX)
    expected = session()["output"]
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with session._session.turn, blas_threads(1):
            taken.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert taken.wait(60)
    pid = os.fork()
    if not pid:
        status = 1
        try:
            status = int(not np.allclose(session()["output"], expected, atol=1e-6))
        finally:
            os._exit(status)
    try:
        ended: list[int] = []
        assert becomes_true(lambda: bool(ended) or bool(os.waitpid(pid, os.WNOHANG)[0] and not ended.append(pid)))
    finally:
        done.set()
        holder.join()
        if not ended:
            os.kill(pid, 9)
            os.waitpid(pid, 0)


class _Interrupting(SimpleQueue[Any]):
    """A queue whose first ``get`` is interrupted, as by Ctrl-C."""

    interrupts = 1

    def get(self, *args: Any, **named: Any) -> Any:
        if self.interrupts:
            self.interrupts -= 1
            raise KeyboardInterrupt
        return super().get(*args, **named)


def test_an_interrupted_phase_leaves_nothing_to_the_next_pass() -> None:
    released = threading.Event()
    ran: list[int] = []

    def slow() -> None:
        released.wait(60)
        ran.append(1)

    pool = ThreadPool(lambda number: [slow], 2)
    pool._finished = _Interrupting()
    with pytest.raises(KeyboardInterrupt):
        pool.run(0, lambda: None, 1)
    assert not pool.alive and not ran
    released.set()
    pool.close()
    assert ran == [1]


def test_a_session_recovers_from_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Compiled(program(LARGE), threads=2)
    x = np.random.default_rng(0).normal(size=(1000, 1000)).astype("float32")
    expected = session(x=x)["output"]
    pool = session._session._pool
    assert isinstance(pool, ThreadPool)
    monkeypatch.setattr(pool, "_finished", _Interrupting())
    with pytest.raises(KeyboardInterrupt):
        session(x=x)
    np.testing.assert_array_equal(session(x=x)["output"], expected)
    assert session._session._pool is not pool


def test_repeated_constants_are_not_taken_for_others_at_the_same_address() -> None:
    values = np.arange(4, dtype="float32")
    held = broadcast._repeated_vector(values, 2)
    assert broadcast._repeated_vector(values, 2) is held
    values += 1  # as if the memory had been freed and used for another constant
    np.testing.assert_array_equal(broadcast._repeated_vector(values, 2), [1, 2, 3, 4, 1, 2, 3, 4])
