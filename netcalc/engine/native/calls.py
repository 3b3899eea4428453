"""Phases whose jobs are calls of kernels, which run one after the other without the interpreter."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from netcalc.engine.native.library import KernelCall, function


class _Call(ctypes.Structure):
    _fields_ = (("kernel", ctypes.c_void_p), ("arguments", ctypes.c_void_p))


class _Phase(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_int64) for name in ("shared", "own", "count", "first", "known"))


class _Table(ctypes.Structure):
    _fields_ = (*((name, ctypes.c_void_p) for name in ("phases", "starts", "calls")), ("number", ctypes.c_int64))


class Phase(NamedTuple):
    """A phase of a process.

    Attributes:
        jobs: calls of all jobs that processes share, or of the process's own; None if some are no calls of kernels.
        own: numbers of the process's own jobs.
        shared: True if processes share the jobs.
    """

    jobs: Sequence[Sequence[KernelCall]] | None
    own: range
    shared: bool


class CallTable:
    """The phases of a process in memory."""

    def __init__(self, phases: Sequence[Phase]) -> None:
        self._kept = [call for phase in phases for job in phase.jobs or () for call in job]
        starts, entries = [0], []
        for phase in phases:
            jobs = phase.jobs or ()
            shared = len(jobs) if phase.shared else 0
            entries.append(_Phase(shared, phase.own.start, len(phase.own), len(starts) - 1, phase.jobs is not None))
            for job in jobs:
                starts.append(starts[-1] + len(job))
        arrays = (
            (_Phase * len(entries))(*entries),
            (ctypes.c_int64 * len(starts))(*starts),
            (_Call * len(self._kept))(*(_Call(*call.addresses) for call in self._kept)),
        )
        #: True for phases that can be run, by their number.
        self.known = [phase.jobs is not None for phase in phases]
        self._arrays = arrays
        self._table = _Table(*(ctypes.addressof(array) for array in arrays), len(entries))

    @property
    def address(self) -> int:
        """Address of the table."""
        return ctypes.addressof(self._table)

    def run_alone(self, first: int, count: int) -> None:
        """Run this process's jobs of some phases, which no other process takes part in."""
        _run_alone()(self.address, first, count)


@cache
def _run_alone() -> Any:
    found = function("run_alone")
    found.restype = None
    found.argtypes = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return found


def available() -> bool:
    """Return True if there is a library that runs phases."""
    return function("run_alone") is not None
