"""Running a plan."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import TypeAlias

import numpy as np
from threadpoolctl import ThreadpoolController

from netcalc.numerics.kernels import Array
from netcalc.numerics.plan.arena import aligned, shared
from netcalc.numerics.plan.plan import Plan
from netcalc.numerics.plan.step import Constant, Job, Step, cuts
from netcalc.numerics.plan.threads import Threads
from netcalc.numerics.plan.workers import Part, Phases, WorkerLostError, Workers, quick_loops
from netcalc.numerics.weights import Parameters

__all__ = ["Session", "Watch"]

#: Told after each step: its number, the step, and the seconds that it took.
Watch: TypeAlias = Callable[[int, Step, float], None]


class Session:
    """A plan with its parameters and memory; each call is a forward pass.

    What it returns is the caller's own.  A session is not to be called from two threads at the same time.
    """

    def __init__(self, plan: Plan, parameters: Parameters) -> None:
        self.plan = plan
        self._blas = ThreadpoolController()
        with plan.reading(parameters):
            # the largest first: later ones fit where the pieces lay that they were made from
            for constant in sorted(plan.constants, key=lambda constant: -constant.slot.store.nbytes):
                _load(constant)
        for store in plan.kept:
            store.memory = aligned(store.nbytes)
        self._scratch = [aligned(nbytes) for nbytes in plan.scratch]
        with self._computing():
            for step in plan.prelude:
                for part in self._parts(step):
                    part()
        self._lay()

    def _lay(self) -> None:
        """Takes memory for what a pass writes, and makes the parts of all steps, which know where it is."""
        plan = self.plan
        arena = (shared if plan.processes else aligned)(plan.memory.arena)
        for store, offset in plan.offsets.items():
            store.memory = arena[offset : offset + store.nbytes]
        self._phases: list[Sequence[Part]] = []
        self._spans: list[range] = []  # the phases of each step
        for step in plan.steps:
            first, parts = len(self._phases), self._parts(step)
            if step.rounds is not None:
                self._phases += [[partial(part, turn) for part in parts] for turn in range(step.rounds)]
            else:
                self._phases.append(parts)
            self._spans.append(range(first, len(self._phases)))
        self._inputs, self._outputs = ([slot.array() for slot in slots] for slots in (plan.inputs, plan.outputs))
        self._owner = os.getpid()
        self._workers: Workers | None = None

    def __call__(self, inputs: Sequence[Array], watch: Watch | None = None) -> list[Array]:
        """The outputs for these inputs, in the program's order.

        Raises:
            NetcalcError: for what only the numbers show, such as an id that is in no row.
        """
        if self.plan.processes and self._owner != os.getpid():
            self._lay()  # this is a copy of the process whose memory it is
        with self._computing():
            try:
                self._pass(inputs, watch, self._team())
            except WorkerLostError:
                self._pass(inputs, watch, None)
        return [array.copy() for array in self._outputs]

    @property
    def held(self) -> int:
        """Bytes of memory that others hold to share the work."""
        return 0 if self._workers is None else self._workers.held

    @contextmanager
    def _computing(self) -> Iterator[None]:
        limit = 1 if self.plan.processes else self.plan.threads
        with self._blas.limit(limits=limit, user_api="blas"), quick_loops():
            yield

    def _team(self) -> Workers | None:
        """Those who share the steps; None where there is nothing to share."""
        if self._workers is None or not self._workers.alive:
            self._workers = None
            if any(len(parts) > 1 for parts in self._phases):
                self._workers = _workers(self.plan.processes)(self._phases, self.plan.threads)
        return self._workers

    def _pass(self, inputs: Sequence[Array], watch: Watch | None, workers: Workers | None) -> None:
        for goal, given in zip(self._inputs, inputs, strict=True):
            np.copyto(goal, given)
        for number, span in enumerate(self._spans):
            start = perf_counter()
            for phase in span:
                parts = self._phases[phase]
                if len(parts) == 1:
                    parts[0]()
                elif workers is None:
                    for part in parts:
                        part()
                elif self.plan.processes:
                    workers.run(phase)
                else:
                    with self._blas.limit(limits=1, user_api="blas"):
                        workers.run(phase)
            if watch is not None:
                watch(number, self.plan.steps[number], perf_counter() - start)

    def _parts(self, step: Step) -> list[Job]:
        """What each thread or process does of a step; one part where all is done by the caller."""
        shares = cuts(step.jobs, step.shares(self.plan.threads, self.plan.processes))
        parts = []
        for (start, end), scratch in zip(shares, self._scratch, strict=False):
            arrays = step.scratch_arrays(scratch)
            parts.append(_in_turn([step.bind(number, arrays) for number in range(start, end)]))
        return parts


def _workers(processes: bool) -> Callable[[Phases, int], Workers]:
    if not processes:
        return Threads
    from netcalc.numerics.plan.processes import Processes  # takes longer to import than all that is here

    return Processes


def _load(constant: Constant) -> None:
    slot = constant.slot
    array = constant.load()
    if constant.stored:
        slot.store.memory = np.ascontiguousarray(array, slot.dtype).reshape(-1).view(np.uint8)
    else:
        slot.store.memory = aligned(slot.store.nbytes)
        np.copyto(slot.array().reshape(array.shape), array, casting="same_kind")


def _in_turn(jobs: Sequence[Job]) -> Job:
    if len(jobs) == 1:
        return jobs[0]

    def part(*turn: int) -> None:
        for job in jobs:
            job(*turn)

    return part
