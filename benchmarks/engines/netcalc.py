"""netcalc's engine, planned and loaded once."""

from __future__ import annotations

from models import Case

from engines import Runner
from netcalc.analysis.memory import memory
from netcalc.engine.plan import Plan


def load(case: Case, threads: int) -> Runner:
    """Return the compiled network, whose work is shared among processes."""
    return case.network.compile(case.weights, threads=threads, processes=True)


def predicted(case: Case, threads: int) -> tuple[int, int]:
    """Return the bytes of the network's weights, and the predicted bytes of the plan without its weights."""
    program = case.network.program
    reference = memory(program)
    return reference.weights + reference.buffers, Plan(program, threads).memory.activations
