"""netcalc's NumPy backend, planned and loaded once."""

from __future__ import annotations

from models import Case

from engines import Runner
from netcalc.analysis.memory import memory
from netcalc.engine.plan import Plan


def load(case: Case, threads: int) -> Runner:
    return case.network.compile(case.weights, threads=threads, processes=True)


def predicted(case: Case, threads: int) -> tuple[int, int]:
    """Bytes of the network's weights, and of what the plan takes beside its own form of them."""
    program = case.network.program
    found = memory(program)
    return found.weights + found.buffers, Plan(program, threads).memory.activations
