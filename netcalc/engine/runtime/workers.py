"""The interface of worker pools, and the pool that consists of the caller alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeAlias

import numpy as np

from netcalc.engine.native.calls import CallTable
from netcalc.engine.step import Job


class Part:
    """The work of one worker in one phase: its own jobs, and in some phases any other job that it takes over.

    A phase is a step, or one round of a step that has rounds.  Calling a part runs the worker's own jobs in order.

    Args:
        own: the numbers of its own jobs.
        jobs: the number of jobs that workers may take over from each other; 0 if each runs its own.
        bind: makes the job of a number.  A worker's own are made at once, others when they are taken over.
    """

    __slots__ = ("_bind", "_jobs", "_own", "jobs", "own")

    def __init__(self, own: range, jobs: int, bind: Callable[[int], Job]) -> None:
        self.own = own
        self.jobs = jobs
        self._bind = bind
        self._own = [bind(number) for number in own]
        self._jobs = dict(zip(own, self._own, strict=True))

    def __call__(self) -> None:
        for job in self._own:
            job()

    def job(self, number: int) -> Job:
        """Return the job of a number."""
        job = self._jobs.get(number)
        if job is None:
            job = self._jobs[number] = self._bind(number)
        return job

    def run(self, number: int) -> None:
        """Run the job of a number."""
        self.job(number)()


#: Returns the parts of the worker of a number, phase by phase.  Worker 0 is the caller.
BindParts: TypeAlias = Callable[[int], Sequence[Part]]

#: Elements of NumPy's ufunc buffer.  NumPy cuts loops over strided arrays to this size even where it does not buffer;
#: with its default, 8192, such loops take up to twice the time.
_UFUNC_BUFFER = 512


class WorkerLostError(Exception):
    """A worker process failed or ended before it finished its part."""


class WorkerPool(Protocol):
    """A caller and its workers, which end when the pool is freed."""

    @property
    def alive(self) -> bool:
        """True if the pool can run a phase in this process."""

    @property
    def private_bytes(self) -> int:
        """Bytes of memory that the workers hold and the caller does not."""

    @property
    def runs_calls(self) -> bool:
        """True if all workers take part in :meth:`run_calls`."""

    def close(self) -> None:
        """Wait until no worker runs a part, and end the workers."""

    def run(self, phase: int, own_part: Part, workers: int) -> None:
        """Run ``own_part`` in the caller while the first ``workers`` workers run their parts of the phase.

        Phases of a pass have growing numbers, but not all run here.

        Returns when all have finished.  If parts fail, raises the exception of the first that did.
        """

    def run_calls(self, table: CallTable, first: int, end: int) -> None:
        """Run phases of a table of the caller's calls of kernels."""


class CallerOnly:
    """Pools whose workers need the interpreter: the caller alone runs phases that are calls of kernels."""

    runs_calls = False

    def run_calls(self, table: CallTable, first: int, end: int) -> None:
        """Run phases that no other worker takes part in."""
        table.run_alone(first, end - first)


class SerialPool(CallerOnly):
    """The caller alone: it runs the parts of all ``count`` workers one after the other."""

    alive = True
    private_bytes = 0

    def __init__(self, bind: BindParts, count: int) -> None:
        self._parts = [bind(number) for number in range(1, count)]

    def close(self) -> None:
        """Do nothing: there are no workers."""

    def run(self, phase: int, own_part: Part, workers: int) -> None:
        """Run the caller's part, then the others."""
        own_part()
        for parts in self._parts[:workers]:
            parts[phase]()


@contextmanager
def numpy_settings() -> Iterator[None]:
    """NumPy's settings during a pass, for the current thread: no floating-point warnings, and a small ufunc buffer."""
    with np.errstate(all="ignore"):
        before = np.setbufsize(_UFUNC_BUFFER)
        try:
            yield
        finally:
            np.setbufsize(before)
