"""Memory that a run in NumPy holds, predicted before anything is allocated."""

from __future__ import annotations

from netcalc.analysis.memory import memory
from netcalc.analysis.memory_report import EngineMemory
from netcalc.engine.plan import Plan
from netcalc.engine.preflight import require_runnable, thread_count
from netcalc.ir import Program
from netcalc.options import PlanName


def engine_memory(program: Program, engine: PlanName) -> EngineMemory:
    """Return the memory that ``Network.run`` holds with ``plan="fast"`` or ``plan="reference"``.

    Raises:
        NetcalcError: E404 for symbolic sizes, E603 or E604 for a program that cannot be run.
    """
    if engine == "reference":
        held = memory(program)
        return EngineMemory("reference", held.weights + held.buffers, held.activations, held.peak)
    require_runnable(program)
    plan = Plan(program, thread_count(None)).memory
    return EngineMemory("fast", plan.weights, plan.activations, plan.peak)
