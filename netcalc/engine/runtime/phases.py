"""Phases of a pass that are calls of kernels alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from netcalc.engine.lower.passes import Passes
from netcalc.engine.native.calls import CallTable, Phase
from netcalc.engine.native.library import KernelCall
from netcalc.engine.runtime.workers import Part
from netcalc.engine.step import Job

#: Phases that run without the interpreter, at most: signals are handled behind them.
_MOST = 16


class Stretch(NamedTuple):
    """Phases from ``first`` to ``end`` that run alike."""

    first: int
    end: int
    known: bool
    """True if their jobs are calls of kernels."""


def call_table(parts: Sequence[Part]) -> CallTable:
    """Return the phases of a worker as calls of kernels, where all of their jobs are that."""
    return CallTable([Phase(_calls_of(part), part.own, part.jobs > 0) for part in parts])


def stretches(table: Sequence[bool]) -> Iterator[Stretch]:
    """Yield stretches of phases, for which ``table`` tells if they run as calls."""
    first = 0
    for known, group in groupby(table):
        end = first + len(list(group))
        for start in range(first, end, _MOST):
            yield Stretch(start, min(end, start + _MOST), known)
        first = end


def _calls_of(part: Part) -> list[tuple[KernelCall, ...]] | None:
    """Return the calls of all jobs that workers may take, or of the worker's own; None if some are no calls."""
    jobs = []
    for number in range(part.jobs) if part.jobs else part.own:
        calls = _calls(part.job(number))
        if calls is None:
            return None
        jobs.append(calls)
    return jobs


def _calls(job: Job) -> tuple[KernelCall, ...] | None:
    if not isinstance(job, Passes):
        return None
    calls = tuple(each for each in job.passes if isinstance(each, KernelCall))
    return calls if len(calls) == len(job.passes) else None
