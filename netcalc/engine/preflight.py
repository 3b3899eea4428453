"""Checks before a run: sizes, kernels, memory and threads."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from netcalc.analysis.counting import operation_count
from netcalc.analysis.memory import Memory, memory
from netcalc.analysis.saved import saved_bytes, saved_tensors
from netcalc.analysis.walk import Instance, instances
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.engine.feasibility import require_arrays
from netcalc.engine.plan import Plan, PlanMemory
from netcalc.ir import Body, OpNode, Program
from netcalc.limits import MAX_PLANNED_OPERATIONS, MAX_THREADS
from netcalc.numerics.inputs import require_sizes
from netcalc.numerics.kernels import KERNELS
from netcalc.process_memory import format_bytes, free_bytes

_HINT = "smaller sizes (--set) need less memory; shapes, params and flops allocate no tensors"


def reference_memory(program: Program) -> Memory:
    """Return the memory that a run by the reference path takes, after checking that it can run.

    Raises:
        NetcalcError: E404 symbolic sizes; E603 not enough memory; E604 an operation without kernel.
    """
    require_runnable(program)
    required = memory(program)
    require_memory(program, required)
    return required


def gradient_memory(program: Program) -> Memory:
    """Return the memory that a forward and a backward pass take, after checking that they can run.

    The tensors saved for the backward pass are held at once, and so are all parameters and their gradients.

    Raises:
        NetcalcError: E404 symbolic sizes; E603 not enough memory; E604 an operation without kernel.
    """
    require_runnable(program)
    forward, saved = memory(program), saved_bytes(saved_tensors(program))
    kept = saved + 2 * forward.weights + forward.buffers
    required = replace(forward, activations=forward.activations + saved, peak=forward.peak + kept)
    require_memory(program, required)
    return required


def build_plan(program: Program, threads: int | None = None, processes: bool = False) -> Plan:
    """Return the plan of a program, after checking that it can run.

    Args:
        program: the program.
        threads: the number of workers; the number of cores that this process may use when None.
        processes: True for worker processes instead of threads.  Only Linux has them; other systems use threads.

    Raises:
        NetcalcError: E404 symbolic sizes; E502 a program that cannot be planned, or fewer than one thread; E603 not
            enough memory; E604 an operation without kernel.
    """
    count = thread_count(threads)
    why = why_unplanned(program)
    if why is not None:
        raise NetcalcError(Diagnostic("E502", f"{why}, which cannot be planned"))
    require_runnable(program)
    # system libraries of macOS do not survive a fork; Windows has none
    plan = Plan(program, count, processes and sys.platform == "linux" and count > 1)
    require_memory(program, plan.memory)
    return plan


def require_runnable(program: Program) -> None:
    """Check that all sizes are numbers, that every operation has a kernel, and that each tensor fits into memory.

    Raises:
        NetcalcError: E404, E603 or E604.
    """
    require_sizes(program)
    _require_kernels(program)
    require_arrays(program, free_bytes())


def why_unplanned(program: Program) -> str | None:
    """Return the reason why a program cannot be planned, or None if it can be."""
    if program.training:
        return f"{program.name!r} is in training mode"
    count = operation_count(program)
    return f"{program.name!r} executes {count:,} operations" if count > MAX_PLANNED_OPERATIONS else None


def thread_count(threads: int | None) -> int:
    """Return the number of threads of a run: ``threads``, or the number of cores that this process may use if None.

    Raises:
        NetcalcError: E502 for a number below 1 or above :data:`~netcalc.limits.MAX_THREADS`.
    """
    if threads is None:
        try:
            cores = len(os.sched_getaffinity(0))
        except (AttributeError, OSError):  # other systems than Linux; a sandbox that refuses it
            cores = os.cpu_count() or 1
        return min(cores, MAX_THREADS)
    if threads < 1:
        raise NetcalcError(Diagnostic("E502", f"a run needs at least 1 thread, but threads is {threads}"))
    if threads > MAX_THREADS:
        raise NetcalcError(Diagnostic("E502", f"a run has at most {MAX_THREADS:,} threads, but threads is {threads:,}"))
    return threads


def require_memory(program: Program, required: Memory | PlanMemory) -> None:
    """Raise NetcalcError (E603) if a run needs more memory than is free."""
    free = free_bytes()
    if required.peak > free:
        raise NetcalcError(_too_large(program, required, free))


@contextmanager
def reporting_memory(program: Program, required: Memory | PlanMemory) -> Iterator[None]:
    """Raise NetcalcError (E603) in place of MemoryError."""
    try:
        yield
    except MemoryError:
        free = free_bytes()
        if required.peak > free:
            raise NetcalcError(_too_large(program, required, free)) from None
        message = (
            f"a run of {program.name!r} ran out of memory: its tensors need {format_bytes(required.peak)}, and "
            f"temporary arrays of its operations more than is free, {format_bytes(free)}"
        )
        raise NetcalcError(Diagnostic("E603", message, hint=_HINT)) from None


def _too_large(program: Program, required: Memory | PlanMemory, free: int) -> Diagnostic:
    """Return the diagnostic of a run that needs more memory than is free."""
    place, span = (f", at {required.peak_at!r}", required.span) if isinstance(required, Memory) else ("", None)
    message = (
        f"a run of {program.name!r} needs {format_bytes(required.peak)} of memory{place}, and "
        f"{format_bytes(free)} is free (all weights {format_bytes(required.weights)}, intermediate values up to "
        f"{format_bytes(required.activations)})"
    )
    hint = _HINT
    if isinstance(required, PlanMemory) and (least := memory(program).peak) < required.peak:
        hint = f"--plan reference holds the weights of one layer at a time and needs {format_bytes(least)}; {hint}"
    return Diagnostic("E603", message, span, hint=hint)


def _require_kernels(program: Program) -> None:
    missing = KERNELS.missing(_operation_names(program.main, set()))
    if not missing:
        return
    first: dict[str, Instance] = {}
    for instance in instances(program):
        name = instance.node.op.name
        if name in missing:
            first.setdefault(name, instance)
            if len(first) == len(missing):
                break
    raise NetcalcError(_without_kernel(name, instance) for name, instance in first.items())


def _without_kernel(name: str, instance: Instance) -> Diagnostic:
    declared = instance.node.op.declared()
    what = name if declared is None else declared.operator
    return Diagnostic("E604", f"{instance.path}: {what} has no kernel, so it cannot be run", instance.node.span)


def _operation_names(body: Body, visited: set[Body]) -> Iterable[str]:
    if body in visited:
        return
    visited.add(body)
    for node in body.nodes:
        if isinstance(node, OpNode):
            yield node.op.name
        else:
            yield from _operation_names(node.body, visited)
