"""Passes over memory, of which jobs consist."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from netcalc.engine.step import Job

#: A call with all of its arguments bound: a ufunc, a product or a copy.
Pass: TypeAlias = Callable[[], object]


def sequence(passes: Sequence[Pass]) -> Job:
    """Return a job that runs the passes in order."""
    if len(passes) == 1:
        (only,) = passes

        def single() -> None:
            only()

        return single
    fixed = tuple(passes)

    def job() -> None:
        for step in fixed:
            step()

    return job
