"""A plan with its parameters and memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from threading import RLock
from time import perf_counter
from typing import TypeAlias
from weakref import WeakSet

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.arena import aligned, shared
from netcalc.engine.native.calls import CallTable, available
from netcalc.engine.plan import Plan
from netcalc.engine.runtime.blas import blas_threads
from netcalc.engine.runtime.loading import Loaded, load_constants
from netcalc.engine.runtime.phases import Stretch, call_table, stretches
from netcalc.engine.runtime.threads import ThreadPool
from netcalc.engine.runtime.workers import BindParts, Part, SerialPool, WorkerLostError, WorkerPool, numpy_settings
from netcalc.engine.step import Buffers, Job, Step, cuts
from netcalc.numerics.parameters import Parameters

#: Called after each step, with its number, the step, and the seconds that it took.
Watch: TypeAlias = Callable[[int, Step, float], None]


class Session:
    """A plan with its parameters and memory; each call is a forward pass.

    The arrays that a call returns belong to the caller.  Calls from several threads take turns; a thread that holds
    ``turn`` keeps the others out for several passes.

    Args:
        plan: the plan to execute.
        parameters: where its constants are read from, once.
        loaded: called after each constant is loaded.
        alone: True if the caller runs the parts of all workers, one after the other.
    """

    def __init__(
        self, plan: Plan, parameters: Parameters, loaded: Loaded | None = None, *, alone: bool = False
    ) -> None:
        self.plan = plan
        self._alone = alone
        self.turn = RLock()
        self._passing = False
        # the largest first: later ones fit into the memory that was freed after transforming earlier ones
        by_size = sorted(plan.constants, key=lambda constant: -constant.slot.store.nbytes)
        # with the BLAS threads of a pass: BLAS may wait forever if another thread forks workers while it runs its own
        with self._computing():
            load_constants(by_size, partial(plan.reading, parameters), 1 if alone else plan.threads, loaded)
        for store in plan.persistent_stores:
            store.memory = aligned(store.nbytes)
        self._scratch: dict[int, Array] = {}  # by worker
        with self._computing():
            for part in self._parts(plan.prelude, 0):
                part()
            self._allocate()
        _sessions.add(self)

    def _allocate(self) -> None:
        """Allocate the arena and bind the caller's parts to it."""
        plan = self.plan
        arena = (shared if plan.processes else aligned)(plan.memory.arena)
        for store, offset in plan.offsets.items():
            store.memory = arena[offset : offset + store.nbytes]
        self._inputs, self._outputs = ([slot.array() for slot in slots] for slots in (plan.inputs, plan.outputs))
        self._own_parts = self._parts(plan.steps, 0)
        self._workers = [plan.workers_by_step[step] - 1 for step in plan.steps for _ in range(_phases(step))]
        self._calls = call_table(self._own_parts) if available() else None
        self._stretches: dict[bool, list[Stretch]] = {}
        self._owner = os.getpid()
        self._pool: WorkerPool | None = None

    def __call__(self, inputs: Sequence[Array], watch: Watch | None = None) -> list[Array]:
        """Return the outputs for these inputs, in the program's order.

        Raises:
            NetcalcError: for errors that depend on values, such as an index out of range.
            RuntimeError: if it is called by its own pass, from a signal handler or ``watch``.
        """
        with self.turn:
            if self._passing:
                raise RuntimeError("a session cannot be called during its own pass")
            self._passing = True
            try:
                self._guarded_pass(inputs, watch)
                return [array.copy() for array in self._outputs]
            finally:
                self._passing = False

    def _guarded_pass(self, inputs: Sequence[Array], watch: Watch | None) -> None:
        """Run a pass; the caller repeats it alone if a worker process is lost."""
        if self.plan.processes and self._owner != os.getpid():
            self._allocate()  # in a forked copy of the process the arena would be shared with the original
        with self._computing():
            try:
                self._pass(inputs, watch, self._ready_pool())
            except WorkerLostError:  # the repeated pass raises what made the worker fail
                self._pass(inputs, watch, SerialPool(self._bound_parts, self.plan.threads))

    @property
    def private_bytes(self) -> int:
        """Bytes of memory that worker processes hold beyond the memory shared with this one."""
        return 0 if self._pool is None else self._pool.private_bytes

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """BLAS threads and NumPy settings during a pass."""
        with blas_threads(1 if self.plan.processes else self.plan.threads), numpy_settings():
            yield

    def renew_turn(self) -> None:
        """Free the session, in a forked copy of the process, from a turn of a thread that the copy lacks."""
        self.turn = RLock()
        self._passing = False

    def _ready_pool(self) -> WorkerPool:
        """Return the worker pool, made anew if there is none or it has ended."""
        plan = self.plan
        if self._pool is None or not self._pool.alive:
            if self._pool is not None:
                self._pool.close()
            count = max(plan.workers_by_step.values(), default=1)
            kind = _pool_type(plan.processes) if count > 1 and not self._alone else SerialPool
            try:
                self._pool = kind(self._bound_parts, count)
            except OSError:  # the system refuses another process
                self._pool = SerialPool(self._bound_parts, count)
        return self._pool

    def _bound_parts(self, worker: int) -> list[Part]:
        return self._parts(self.plan.steps, worker) if worker else self._own_parts

    def _pass(self, inputs: Sequence[Array], watch: Watch | None, pool: WorkerPool) -> None:
        for target, array in zip(self._inputs, inputs, strict=True):
            np.copyto(target, array)
        if watch is None and self._calls is not None:
            for first, end, known in self._stretches_of(pool, self._calls):
                if known:
                    pool.run_calls(self._calls, first, end)
                else:
                    for phase in range(first, end):
                        self._run_phase(phase, pool)
            return
        first = 0
        for number, step in enumerate(self.plan.steps):
            start, end = perf_counter(), first + _phases(step)
            for phase in range(first, end):
                self._run_phase(phase, pool)
            first = end
            if watch is not None:
                watch(number, step, perf_counter() - start)

    def _run_phase(self, phase: int, pool: WorkerPool) -> None:
        part, workers = self._own_parts[phase], self._workers[phase]
        if not workers:
            part()
        elif self.plan.processes:
            pool.run(phase, part, workers)
        else:
            with blas_threads(1):
                pool.run(phase, part, workers)

    def _stretches_of(self, pool: WorkerPool, calls: CallTable) -> list[Stretch]:
        """Return the phases in stretches that the pool runs as calls of kernels, or one by one."""
        found = self._stretches.get(pool.runs_calls)
        if found is None:
            alone = [not workers for workers in self._workers]
            known = [is_call and (pool.runs_calls or own) for is_call, own in zip(calls.known, alone, strict=True)]
            found = self._stretches[pool.runs_calls] = list(stretches(known))
        return found

    def _parts(self, steps: Sequence[Step], worker: int) -> list[Part]:
        """Return the parts of a worker, phase by phase.  Each worker process binds its own."""
        plan = self.plan
        if worker not in self._scratch:
            self._scratch[worker] = aligned(plan.scratch[worker])
        parts: list[Part] = []
        for step in steps:
            ranges = cuts(step.jobs, plan.workers_by_step[step])
            if worker >= len(ranges):
                parts += [_NOTHING] * _phases(step)
                continue
            own, bind = range(*ranges[worker]), partial(_bound, step, step.buffers(self._scratch[worker]))
            if step.rounds is None:
                parts.append(Part(own, step.jobs if len(ranges) > 1 else 0, bind))
            else:
                jobs = {number: bind(number) for number in own}
                parts += [Part(own, 0, partial(_in_round, jobs, round_)) for round_ in range(step.rounds)]
        return parts


_sessions: WeakSet[Session] = WeakSet()


def _renew_turns() -> None:
    for session in list(_sessions):
        session.renew_turn()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_turns)


def _phases(step: Step) -> int:
    """Return the number of times that the workers of a step synchronize."""
    return 1 if step.rounds is None else step.rounds


def _bound(step: Step, buffers: Buffers, number: int) -> Job:
    return step.bind(number, buffers)


def _in_round(jobs: Mapping[int, Job], round_: int, number: int) -> Job:
    return partial(jobs[number], round_)


def _no_job(number: int) -> Job:
    raise LookupError(number)


#: Part of a worker that has no jobs in a phase.
_NOTHING = Part(range(0), 0, _no_job)


def _pool_type(processes: bool) -> Callable[[BindParts, int], WorkerPool]:
    if not processes:
        return ThreadPool
    from netcalc.engine.runtime.processes import ProcessPool, shares_jobs  # psutil is slow to import

    return ProcessPool if shares_jobs() else ThreadPool
