"""Claims of jobs among processes, and their waiting for each other, by a compiled library (Linux only)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import partial
from mmap import mmap
from typing import Any

from netcalc.engine.native.library import function

#: Words of 8 bytes: of a board before its claims, of a cache line, and of what a process remembers of its breaks.
_HEADER, _DONE, _BREAKS = 16, 8, 5
#: Functions, with the number of their addresses and integers.
_NAMES = {
    "publish": (1, 1),
    "claim": (1, 4),
    "done": (2, 0),
    "more_done": (1, 1),
    "run_shared": (3, 3),
    "serve": (3, 1),
}


def shares_jobs() -> bool:
    """Return True if processes can share jobs."""
    return all(function(name) is not None for name in _NAMES)


class Turns:
    """The phase of a pass and the claims of its jobs, in memory that forked processes share.

    Phases have numbers that grow.  Jobs of a phase that a process claims are run by it alone; :meth:`done` reports one.

    Args:
        jobs: the largest number of jobs of a phase.
    """

    def __init__(self, jobs: int) -> None:
        self._memory = mmap(-1, (_HEADER + jobs) * 8)
        self._breaks = (ctypes.c_int64 * _BREAKS)()  # of each process, since a fork copies it
        board = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        breaks = ctypes.addressof(self._breaks)
        publish, claim, done, more, run_shared, serve = (_bound(name) for name in _NAMES)
        self._claim = partial(claim, board)
        #: Begin a phase of this number.
        self.publish = partial(publish, board)
        #: Run phases of a table (its address) behind the one of this number whose calls are known, and return the
        #: number of the first other one; that of the last one, negative, if there is none for long.
        self.serve = partial(serve, board, breaks)
        #: Report a job that is done, and make a break if another process wants this core.
        self.done = partial(done, board, breaks)
        #: Wait until more jobs are reported than so many, and return their number; the same one if that takes long.
        self.more_done = partial(more, board)
        #: Run the owner's part of phases of a table (its address), given the address of the number of jobs that workers
        #: have claimed, the number of the first phase, its place, and their count; return how many are complete.
        self.run_shared = partial(run_shared, board)

    @property
    def reported(self) -> int:
        """Number of jobs reported so far."""
        return int(memoryview(self._memory).cast("q")[_DONE])

    def claimed(self, phase: int, own: range, jobs: int) -> Iterator[int]:
        """Yield jobs of a phase as they are claimed: a process's own in order, then what others have left, last first.

        The last jobs of others are the ones that they come to last.
        """
        while (job := self._claim(phase, own.start, len(own), 1)) >= 0:
            yield job
        while (job := self._claim(phase, jobs - 1, jobs, -1)) >= 0:
            yield job


def _bound(name: str) -> Callable[..., Any]:
    found: Any = function(name)
    found.restype = None if name in ("publish", "done") else ctypes.c_int64
    addresses, integers = _NAMES[name]
    found.argtypes = [ctypes.c_void_p] * addresses + [ctypes.c_int64] * integers
    typed: Callable[..., Any] = found
    return typed
