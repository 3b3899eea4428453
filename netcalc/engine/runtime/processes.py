"""Process pool: forked workers that share the arena of a session.

A thread that waits for another takes about fifty microseconds to wake up and to acquire the interpreter's lock, which
is longer than most steps.  A process has an interpreter of its own, and waits in a spin loop, for a bounded time.

Workers claim jobs one by one: each its own first, in order, then what others have not begun.  A worker that has
lost its core to another process is then missed only for the job that it has begun.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from mmap import mmap
from typing import NoReturn
from weakref import finalize

import psutil

from netcalc.engine.native.calls import CallTable
from netcalc.engine.native.turns import Turns, shares_jobs
from netcalc.engine.runtime.phases import call_table
from netcalc.engine.runtime.workers import BindParts, Part, WorkerLostError, numpy_settings

__all__ = ["ProcessPool", "shares_jobs"]


class ProcessPool:
    """``count`` processes, including the caller.

    Memory that the workers write must be allocated as shared memory before the pool is made.  A failed or interrupted
    phase ends all workers.  In a process with several threads CPython 3.12 and later issue a DeprecationWarning for
    the fork; it is left to the filters of the caller, and the default ones ignore it.

    Raises:
        OSError: if the system cannot create another process.
    """

    runs_calls = True

    def __init__(self, bind: BindParts, count: int) -> None:
        self._owner, parts = os.getpid(), bind(0)
        self._phases = len(parts)
        self._turns = Turns(max((part.jobs for part in parts), default=0))
        # 1 once a worker has failed, or is not to start
        self._failed = memoryview(mmap(-1, 8)).cast("q")
        # phases of all passes are counted, so that a worker that comes late finds none of its claims open
        self._last, self._before = -1, 1
        self._expected = ctypes.c_int64()  # jobs that workers have claimed
        self._pids: list[int] = []
        self.stop = finalize(self, _stop, self._pids, self._owner)
        try:
            for number in range(1, count):
                with _signals_blocked():
                    pid = os.fork()
                    if not pid:
                        _serve(bind, number, self._turns, self._failed, self._owner)
                    self._pids.append(pid)
        except BaseException:
            self._failed[0] = 1  # a fork whose warning was raised as an exception has made a worker without known pid
            self.stop()
            raise

    @property
    def alive(self) -> bool:
        """True if the workers are running and belong to this process."""
        return self.stop.alive and self._owner == os.getpid() and not any(map(_has_ended, self._pids))

    @property
    def private_bytes(self) -> int:
        """Bytes that only the workers hold: scratch, BLAS buffers, and copied pages of the owner that they wrote."""
        total = 0
        for pid in self._pids:
            with suppress(OSError, psutil.Error):  # the worker has ended, or there is no /proc
                total += psutil.Process(pid).memory_full_info().uss
        return total

    def close(self) -> None:
        """End the workers."""
        self.stop()

    def run(self, phase: int, own_part: Part, workers: int) -> None:
        """Run all parts of a phase.

        Raises:
            WorkerLostError: if a worker failed or ended; all workers have then ended.
        """
        self._begin(phase, 1)
        try:
            self._turns.publish(self._before + phase)
            if own_part.jobs:
                others = own_part.jobs
                for number in self._turns.claimed(self._before + phase, own_part.own, own_part.jobs):
                    own_part.run(number)
                    others -= 1
            else:
                own_part()
                others = workers
            self._expected.value += others
            self._await_workers()
        except BaseException:
            self.stop()
            raise

    def run_calls(self, table: CallTable, first: int, end: int) -> None:
        """Run all parts of phases that are calls of kernels.

        Raises:
            WorkerLostError: as :meth:`run`.
        """
        self._begin(first, end - first)
        expected = ctypes.addressof(self._expected)
        try:
            while first < end:
                first += self._turns.run_shared(table.address, expected, self._before + first, first, end - first)
                if first < end:  # workers take long
                    self._await_workers()
                    first += 1
        except BaseException:
            self.stop()
            raise

    def _begin(self, phase: int, count: int) -> None:
        if phase <= self._last:
            self._before += self._phases
        self._last = phase + count - 1

    def _await_workers(self) -> None:
        """Wait until all jobs that workers have claimed are done."""
        done = self._turns.reported
        while done < self._expected.value:
            before, done = done, self._turns.more_done(done)
            if done == before and any(map(_has_ended, self._pids)):
                raise WorkerLostError
        if self._failed[0]:
            raise WorkerLostError


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block signals, so that a new worker receives none before it has installed its own handlers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(bind: BindParts, number: int, turns: Turns, failed: memoryview[int], owner: int) -> NoReturn:
    """Worker process main loop: wait for a phase, run jobs of it, report each.  Ends with its owner."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())
        gc.disable()  # collecting would write to, and so copy, pages of the owner
        _close_files()
        with numpy_settings():
            _run_phases(bind(number), number, turns, failed, owner)
    except WorkerLostError:
        status = 0
    except BaseException:
        failed[0] = 1
        turns.done()
    finally:
        os._exit(status)


def _run_phases(parts: Sequence[Part], number: int, turns: Turns, failed: memoryview[int], owner: int) -> NoReturn:
    """Run jobs of each phase, of which the first has the number 1.

    Raises:
        WorkerLostError: if the owner has ended.
    """
    seen, phases, table = 0, len(parts), call_table(parts)
    while True:
        phase = turns.serve(table.address, seen)
        if phase <= 0:
            seen = -phase
            if failed[0] or os.getppid() != owner:
                raise WorkerLostError
            continue
        seen, part = phase, parts[(phase - 1) % phases]
        if part.jobs:
            for job in turns.claimed(phase, part.own, part.jobs):
                part.run(job)
                turns.done()
        elif part.own:
            part()
            turns.done()


def _close_files() -> None:
    """Close every inherited file, so that a pipe that the owner closes is closed."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(null, standard)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


def _has_ended(pid: int) -> bool:
    """True if a worker has ended.  It is not reaped here, so that its pid stays valid for :func:`_stop`."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _stop(pids: list[int], owner: int) -> None:
    """End and reap the workers; a no-op in a forked copy of the owner."""
    if os.getpid() != owner:
        return
    for pid in pids:
        with suppress(ChildProcessError):  # reaped elsewhere; the pid may belong to another process by now
            if os.waitpid(pid, os.WNOHANG)[0] == 0:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
    pids.clear()
