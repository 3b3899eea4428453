"""netcalc's engine, planned and loaded once."""

from __future__ import annotations

from models import Case

import netcalc


def load(case: Case, threads: int) -> netcalc.Compiled:
    """Return the compiled network, whose work is shared among processes."""
    return case.network.compile(case.weights, threads=threads, processes=True)


def predicted(run: netcalc.Compiled) -> int:
    """Return the bytes that the plan of the run predicts."""
    return run.memory.peak
