"""Whether a run can be: every size a number, a kernel for every operation, room in memory, threads."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from netcalc.analysis.memory import Memory, memory
from netcalc.analysis.walk import Instance, instances
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.engine.plan import Plan, PlanMemory
from netcalc.ir import Body, OpNode, Program
from netcalc.numerics.inputs import require_sizes
from netcalc.numerics.interpret import operations
from netcalc.numerics.kernels import kernel_for
from netcalc.numerics.process_memory import free_bytes, gibibytes

__all__ = ["MOST_PLANNED", "prepare", "prepare_plan", "thread_count", "too_large", "unplanned"]

#: A plan is flat, so that its making takes time and room for every instance of a repeat; a loop over them does not.
MOST_PLANNED = 10_000

_HINT = "smaller sizes (--set) take less, and shapes, params and flops take none"


def prepare(program: Program) -> Memory:
    """What a run by the reference path takes, once it is sure that it can be.

    Raises:
        NetcalcError: E404 symbolic sizes, E604 an operation without kernel, E603 not enough memory.
    """
    require_sizes(program)
    _require_kernels(program)
    required, free = memory(program), free_bytes()
    if required.peak > free:
        raise NetcalcError(too_large(program, required, free))
    return required


def prepare_plan(program: Program, threads: int | None = None, processes: bool | None = None) -> Plan:
    """The plan of a program, once it is sure that it can be run; on all the threads there are when ``threads`` is None.

    They are processes where the system is one whose processes can be copied (Linux), unless it is said otherwise.

    Raises:
        NetcalcError: as :func:`prepare`, and E502 for a program or a number of threads that is not for planning.
    """
    count = thread_count(threads)
    why = unplanned(program)
    if why is not None:
        raise NetcalcError(Diagnostic("E502", f"{why}, which is not planned"))
    require_sizes(program)
    _require_kernels(program)
    if processes is None:
        processes = sys.platform == "linux"  # macOS's libraries do not take it
    plan, free = Plan(program, count, processes and count > 1), free_bytes()
    if plan.memory.peak > free:
        raise NetcalcError(too_large(program, plan.memory, free))
    return plan


def unplanned(program: Program) -> str | None:
    """Why a program is not for planning; None if it is."""
    if program.training:
        return f"{program.name!r} is in training mode"
    count = operations(program)
    return f"{program.name!r} executes {count:,} operations" if count > MOST_PLANNED else None


def thread_count(threads: int | None) -> int:
    """How many threads a run gets: those asked for, or as many as there are cores that this process may use.

    Raises:
        NetcalcError: E502 for a number below 1.
    """
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads < 1:
        raise NetcalcError(Diagnostic("E502", f"a run takes at least 1 thread, and {threads} were asked for"))
    return threads


def too_large(program: Program, required: Memory | PlanMemory, free: int) -> Diagnostic:
    """What is said of a run that memory does not suffice for."""
    place = f", at {required.peak_at!r}" if isinstance(required, Memory) else ""
    message = (
        f"a run of {program.name!r} takes {gibibytes(required.peak)} of memory{place}, and "
        f"{gibibytes(free)} are free (weights {gibibytes(required.weights)} in all, values up to "
        f"{gibibytes(required.activations)})"
    )
    hint = _HINT
    if isinstance(required, PlanMemory) and (least := memory(program).peak) < required.peak:
        hint = f"--plan reference holds the weights of one layer at a time and takes {gibibytes(least)}; {hint}"
    return Diagnostic("E603", message, hint=hint)


def _require_kernels(program: Program) -> None:
    without = sorted({op for op in _operations(program.main, set()) if kernel_for(op) is None})
    if without:
        first: dict[str, Instance] = {}
        for instance in instances(program):
            if instance.node.op.name in without:
                first.setdefault(instance.node.op.name, instance)
                if len(first) == len(without):
                    break
        raise NetcalcError(
            Diagnostic("E604", f"{instance.path}: {name} has no kernel, so it cannot be run", instance.node.span)
            for name, instance in first.items()
        )


def _operations(body: Body, seen: set[Body]) -> Iterable[str]:
    if body in seen:
        return
    seen.add(body)
    for node in body.nodes:
        if isinstance(node, OpNode):
            yield node.op.name
        else:
            yield from _operations(node.body, seen)
