"""Running a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TypeAlias

import numpy as np
from threadpoolctl import ThreadpoolController

from netcalc.numerics.kernels import Array
from netcalc.numerics.plan.arena import aligned
from netcalc.numerics.plan.plan import Plan
from netcalc.numerics.plan.step import Constant, Job, Step, cuts
from netcalc.numerics.plan.workers import Part, Workers, quick_loops
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
        self._workers = Workers(plan.threads)
        self._blas = ThreadpoolController()
        with plan.reading(parameters):
            for constant in plan.constants:
                _load(constant)
        for store in plan.kept:
            store.memory = aligned(store.nbytes)
        arena = aligned(plan.memory.arena)
        for store, offset in plan.offsets.items():
            store.memory = arena[offset : offset + store.nbytes]
        self._scratch = [aligned(nbytes) for nbytes in plan.scratch]
        self._run([self._parts(step) for step in plan.prelude], plan.prelude, None)
        self._steps = [self._parts(step) for step in plan.steps]
        self._inputs, self._outputs = ([slot.array() for slot in slots] for slots in (plan.inputs, plan.outputs))

    def __call__(self, inputs: Sequence[Array], watch: Watch | None = None) -> list[Array]:
        """The outputs for these inputs, in the program's order.

        Raises:
            NetcalcError: for what only the numbers show, such as an id that is in no row.
        """
        for goal, given in zip(self._inputs, inputs, strict=True):
            np.copyto(goal, given)
        self._run(self._steps, self.plan.steps, watch)
        return [array.copy() for array in self._outputs]

    def _parts(self, step: Step) -> list[Part]:
        """What each thread does of a step; one part where BLAS has all of them."""
        parts = []
        shares = cuts(step.jobs, step.threads(self.plan.threads))
        for (start, end), scratch in zip(shares, self._scratch, strict=False):
            arrays = step.scratch_arrays(scratch)
            parts.append(_in_turn([step.bind(number, arrays) for number in range(start, end)]))
        return parts

    def _run(self, parts: Sequence[list[Part]], steps: Sequence[Step], watch: Watch | None) -> None:
        with self._blas.limit(limits=self.plan.threads, user_api="blas"), quick_loops():
            for number, of_step in enumerate(parts):
                start = perf_counter()
                if len(of_step) == 1:
                    of_step[0]()
                else:
                    with self._blas.limit(limits=1, user_api="blas"):
                        self._workers.run(of_step)
                if watch is not None:
                    watch(number, steps[number], perf_counter() - start)


def _load(constant: Constant) -> None:
    slot = constant.slot
    array = constant.load()
    if constant.stored:
        slot.store.memory = np.ascontiguousarray(array, slot.dtype).reshape(-1).view(np.uint8)
    else:
        slot.store.memory = aligned(slot.store.nbytes)
        np.copyto(slot.array().reshape(array.shape), array, casting="same_kind")


def _in_turn(jobs: Sequence[Job]) -> Part:
    if len(jobs) == 1:
        return jobs[0]

    def part() -> None:
        for job in jobs:
            job()

    return part
