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

from netcalc.engine.arena import aligned, shared
from netcalc.engine.plan import Plan
from netcalc.engine.runtime.threads import Threads
from netcalc.engine.runtime.workers import Alone, Part, Parts, WorkerLostError, Workers, quick_loops
from netcalc.engine.step import Constant, Job, Step, cuts
from netcalc.numerics.kernels import Array
from netcalc.numerics.parameters import Parameters

__all__ = ["Session", "Watch"]

#: Told after each step: its number, the step, and the seconds that it took.
Watch: TypeAlias = Callable[[int, Step, float], None]


class Session:
    """A plan with its parameters and memory; each call is a forward pass.

    What it returns is the caller's own.  A session is not to be called from two threads at the same time.  While it is
    made, ``loaded`` is told how many of the plan's constants are there.
    """

    def __init__(self, plan: Plan, parameters: Parameters, loaded: Callable[[int], None] | None = None) -> None:
        self.plan = plan
        self._blas = ThreadpoolController()
        with plan.reading(parameters):
            # the largest first: later ones fit where the pieces lay that they were made from
            in_order = sorted(plan.constants, key=lambda constant: -constant.slot.store.nbytes)
            for number, constant in enumerate(in_order, 1):
                _load(constant)
                if loaded is not None:
                    loaded(number)
        for store in plan.kept:
            store.memory = aligned(store.nbytes)
        self._scratch: dict[int, Array] = {}  # by share
        with self._computing():
            for part in self._parts(plan.prelude, 0):
                part()
        self._lay()

    def _lay(self) -> None:
        """Takes memory for what a pass writes."""
        plan = self.plan
        arena = (shared if plan.processes else aligned)(plan.memory.arena)
        for store, offset in plan.offsets.items():
            store.memory = arena[offset : offset + store.nbytes]
        self._inputs, self._outputs = ([slot.array() for slot in slots] for slots in (plan.inputs, plan.outputs))
        self._own = self._parts(plan.steps, 0)
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
                self._pass(inputs, watch, Alone(partial(self._parts, self.plan.steps), self.plan.threads))
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

    def _team(self) -> Workers:
        """Those who share the steps; the caller alone where there is nothing to share."""
        plan = self.plan
        if self._workers is None or not self._workers.alive:
            parts, count = partial(self._parts, plan.steps), max(plan.shares.values(), default=1)
            try:
                self._workers = (_workers(plan.processes) if count > 1 else Alone)(parts, count)
            except OSError:  # no room for processes
                self._workers = Alone(parts, count)
        return self._workers

    def _pass(self, inputs: Sequence[Array], watch: Watch | None, workers: Workers) -> None:
        for goal, given in zip(self._inputs, inputs, strict=True):
            np.copyto(goal, given)
        phase = 0
        for number, step in enumerate(self.plan.steps):
            start = perf_counter()
            others = self.plan.shares[step] - 1
            for _ in range(_phases(step)):
                if not others:
                    self._own[phase]()
                elif self.plan.processes:
                    workers.run(phase, self._own[phase], others)
                else:
                    with self._blas.limit(limits=1, user_api="blas"):
                        workers.run(phase, self._own[phase], others)
                phase += 1
            if watch is not None:
                watch(number, step, perf_counter() - start)

    def _parts(self, steps: Sequence[Step], share: int) -> list[Part]:
        """What one of those who share the steps does, phase by phase; they make this each for themselves."""
        plan = self.plan
        if share not in self._scratch:
            self._scratch[share] = aligned(plan.scratch[share])
        parts: list[Part] = []
        for step in steps:
            shares = cuts(step.jobs, plan.shares[step])
            if share >= len(shares):
                parts += [_nothing] * _phases(step)
                continue
            arrays = step.scratch_arrays(self._scratch[share])
            part = _in_turn([step.bind(number, arrays) for number in range(*shares[share])])
            parts += [part] if step.rounds is None else [partial(part, turn) for turn in range(step.rounds)]
        return parts


def _phases(step: Step) -> int:
    """How often all who share a step wait for each other."""
    return 1 if step.rounds is None else step.rounds


def _nothing() -> None:
    """The part of who has none."""


def _workers(processes: bool) -> Callable[[Parts, int], Workers]:
    if not processes:
        return Threads
    from netcalc.engine.runtime.processes import Processes  # takes longer to import than all that is here

    return Processes


def _load(constant: Constant) -> None:
    slot = constant.slot
    if constant.load is not None:
        slot.store.memory = np.ascontiguousarray(constant.load(), slot.dtype).reshape(-1).view(np.uint8)
    elif constant.fill is not None:
        slot.store.memory = aligned(slot.store.nbytes)
        constant.fill(slot.array())


def _in_turn(jobs: Sequence[Job]) -> Job:
    if len(jobs) == 1:
        return jobs[0]

    def part(*turn: int) -> None:
        for job in jobs:
            job(*turn)

    return part
