"""Process pool: forked workers that share the arena of a session.

A thread that waits for another takes about fifty microseconds to wake up and to acquire the interpreter's lock, which
is longer than most steps.  A process has an interpreter of its own and can wait in a spin loop.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from mmap import mmap
from multiprocessing import get_context
from multiprocessing.synchronize import Semaphore
from pathlib import Path
from time import sleep
from typing import NoReturn
from weakref import finalize

import psutil

from netcalc.engine.runtime.workers import BindParts, Part, WorkerLostError, numpy_settings

#: Polls before sleeping: of a worker for the next phase, for about a millisecond, and of the owner for the end of one.
_WORKER_POLLS, _OWNER_POLLS = 20_000, 100_000
#: Naps of about fifty microseconds that the owner takes after that.  It does not yield instead, since it may then lose
#: its core until the next timer tick.  A worker does not nap, since it would wake up on the core of its owner.
_OWNER_NAPS = 20_000
#: Seconds of sleep between two checks that the other side is alive.
_SLEEP = 0.5


class ProcessPool:
    """``count`` processes, including the caller.

    Memory that the workers write must be allocated as shared memory before the pool is made.  A failed or interrupted
    phase ends all workers.  In a process with several threads CPython 3.12 and later issue a DeprecationWarning for
    the fork; it is left to the filters of the caller, and the default ones ignore it.

    Raises:
        OSError: if the system cannot create another process or has no shared semaphores.
    """

    def __init__(self, bind: BindParts, count: int) -> None:
        self._owner = os.getpid()
        context = get_context("fork")
        # the number of the phase; 1 once a worker has failed, or is not to start
        self._board = memoryview(mmap(-1, 16)).cast("q")
        self._starts, self._ends = ([context.Semaphore(0) for _ in range(count - 1)] for _ in range(2))
        self._pids: list[int] = []
        self.stop = finalize(self, _stop, self._pids, self._owner)
        try:
            for number, (start, end) in enumerate(zip(self._starts, self._ends, strict=True), 1):
                with _signals_blocked():
                    pid = os.fork()
                    if not pid:
                        _serve(bind, number, self._board, start, end, self._owner)
                    self._pids.append(pid)
        except BaseException:
            self._board[1] = 1  # a fork whose warning was raised as an exception has made a worker without known pid
            self.stop()
            raise

    @property
    def alive(self) -> bool:
        """True if the workers are running and belong to this process."""
        return self.stop.alive and self._owner == os.getpid()

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
        self._board[0] = phase
        try:
            for start in self._starts[:workers]:
                start.release()
            own_part()
            for end, pid in zip(self._ends[:workers], self._pids, strict=False):
                _wait(end, _OWNER_POLLS, _OWNER_NAPS, partial(_has_ended, pid))
            if self._board[1]:
                raise WorkerLostError
        except BaseException:
            self.stop()
            raise


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block signals, so that a new worker receives none before it has installed its own handlers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(
    bind: BindParts, number: int, board: memoryview[int], start: Semaphore, end: Semaphore, owner: int
) -> NoReturn:
    """Worker process main loop: wait for a phase, run the part, report.  Ends with its owner."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())
        gc.disable()  # collecting would write to, and so copy, pages of the owner
        _close_files()
        with numpy_settings():
            parts = bind(number)
            _leave_core_of(owner, number)
            while True:
                if _wait(start, _WORKER_POLLS, 0, lambda: bool(board[1]) or os.getppid() != owner):
                    _leave_core_of(owner, number)
                parts[board[0]]()
                end.release()
    except WorkerLostError:
        status = 0
    except BaseException:
        board[1] = 1
        end.release()
    finally:
        os._exit(status)


def _close_files() -> None:
    """Close every inherited file, so that a pipe that the owner closes is closed."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(null, standard)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


def _leave_core_of(owner: int, number: int) -> None:
    """Move to another core if this worker runs on the owner's, where the kernel starts and wakes it."""
    with suppress(OSError, ValueError, IndexError):  # it only affects speed
        core = _core(owner)
        if core == _core(os.getpid()) and core in (cores := sorted(os.sched_getaffinity(0))):
            os.sched_setaffinity(0, {cores[(cores.index(core) + number) % len(cores)]})
            os.sched_setaffinity(0, cores)


def _core(pid: int) -> int:
    """Return the core that a process is on.  psutil takes several times as long, while the owner waits."""
    text = Path(f"/proc/{pid}/stat").read_bytes()
    return int(text.rpartition(b")")[2].split()[36])


def _wait(semaphore: Semaphore, polls: int, naps: int, lost: Callable[[], bool]) -> bool:
    """Wait for a semaphore, polling first and then asleep; return True if it slept."""
    acquire = semaphore.acquire
    for _ in range(polls):
        if acquire(False):
            return False
    for _ in range(naps):
        if acquire(False):
            return False
        sleep(0)
    while not acquire(True, _SLEEP):
        if lost():
            raise WorkerLostError
    return True


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
