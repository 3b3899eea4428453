"""Processes as workers: copies of this one that share the memory that steps write to.

A thread that waits for another takes some fifty microseconds to wake up and to get the interpreter's lock, which is
more than most steps take.  A process has an interpreter of its own and waits spinning.
"""

from __future__ import annotations

import gc
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from mmap import mmap
from multiprocessing import get_context
from multiprocessing.synchronize import Semaphore
from time import sleep
from typing import NoReturn
from weakref import finalize

import psutil

from netcalc.engine.runtime.workers import Part, Parts, WorkerLostError, quick_loops

__all__ = ["Processes"]

#: How often a worker looks for a phase before it sleeps, for about a millisecond, and its owner for the end of one.
_IDLE, _BUSY = 20_000, 100_000
#: How often the owner then naps, for some fifty microseconds, before it sleeps too.  It does not yield, which can leave
#: it without its core until the next tick; nor does a worker nap, which would wake up on its owner's core.
_NAPS = 20_000
#: For how many seconds it sleeps before it sees whether the other still lives.
_PATIENCE = 0.5


class Processes:
    """``count`` processes, the calling one among them.

    The memory that they write to must be there when this is made.  An interrupted run ends them.

    Raises:
        OSError: where there is no room for a process, or the system has no semaphores to share.
    """

    def __init__(self, parts: Parts, count: int) -> None:
        self._owner = os.getpid()
        context = get_context("fork")
        # the number of the phase, and whether a worker failed
        self._board = memoryview(mmap(-1, 16)).cast("q")
        self._starts, self._ends = ([context.Semaphore(0) for _ in range(count - 1)] for _ in range(2))
        self._pids: list[int] = []
        self.stop = finalize(self, _stop, self._pids, self._owner)
        try:
            for number, (start, end) in enumerate(zip(self._starts, self._ends, strict=True), 1):
                with _uninterrupted():
                    pid = os.fork()
                    if not pid:
                        _serve(parts, number, self._board, start, end, self._owner)
                    self._pids.append(pid)
        except BaseException:
            self.stop()
            raise

    @property
    def alive(self) -> bool:
        """Whether they can be told to run, by this process."""
        return self.stop.alive and self._owner == os.getpid()

    @property
    def held(self) -> int:
        """Bytes that are theirs alone: scratch, BLAS's buffers, and what they wrote of the memory that they copied."""
        held = 0
        for pid in self._pids:
            with suppress(psutil.Error):  # it has ended
                held += psutil.Process(pid).memory_full_info().uss
        return held

    def run(self, phase: int, own: Part, others: int) -> None:
        """Does all parts of a phase.

        Raises:
            WorkerLostError: where a worker did not do its part, once all have ended.
        """
        self._board[0] = phase
        try:
            for start in self._starts[:others]:
                start.release()
            own()
            for end, pid in zip(self._ends[:others], self._pids, strict=False):
                _wait(end, _BUSY, _NAPS, partial(_ended, pid))
            if self._board[1]:
                raise WorkerLostError
        except BaseException:
            self.stop()
            raise


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Signals wait, so that a copy hears none before it has said which; and its making is not warned of.

    Other threads may hold locks when it is made, which matters to those who take them.  Workers only compute.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(parts: Parts, number: int, board: memoryview[int], start: Semaphore, end: Semaphore, owner: int) -> NoReturn:
    """The life of a worker, which holds no file open and hears nothing but its owner."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())
        gc.disable()  # what it would look through is the owner's
        null = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):
            os.dup2(null, standard)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        with quick_loops():
            phases = parts(number)
            process = psutil.Process(owner)
            _make_way(process, number)
            while True:
                if _wait(start, _IDLE, 0, lambda: os.getppid() != owner):
                    _make_way(process, number)
                phases[board[0]]()
                end.release()
    except WorkerLostError:
        status = 0
    except BaseException:
        board[1] = 1
        end.release()
    finally:
        os._exit(status)


def _make_way(owner: psutil.Process, number: int) -> None:
    """Leaves the core of the owner: a system copies a process, and wakes it up, where the other one runs."""
    with suppress(OSError, psutil.Error):  # it is only faster
        cores, taken = sorted(os.sched_getaffinity(0)), owner.cpu_num()
        if taken in cores and psutil.Process().cpu_num() == taken:
            os.sched_setaffinity(0, {cores[(cores.index(taken) + number) % len(cores)]})
            os.sched_setaffinity(0, cores)


def _wait(semaphore: Semaphore, looks: int, naps: int, lost: Callable[[], bool]) -> bool:
    """Waits awake at first, then asleep; says whether it slept."""
    acquire = semaphore.acquire
    for _ in range(looks):
        if acquire(False):
            return False
    for _ in range(naps):
        if acquire(False):
            return False
        sleep(0)
    while not acquire(True, _PATIENCE):
        if lost():
            raise WorkerLostError
    return True


def _ended(pid: int) -> bool:
    """Whether a worker has ended; it is left to :func:`_stop` to let it go, and its number with it."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _stop(pids: list[int], owner: int) -> None:
    """Ends the workers, if they are this process's own."""
    if os.getpid() != owner:
        return
    for pid in pids:
        with suppress(ChildProcessError):  # somebody else has let it go, and the number may be another's
            if os.waitpid(pid, os.WNOHANG)[0] == 0:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
    pids.clear()
