"""Plans: what will be done, where everything lies, and what it takes, before anything is read or allocated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from netcalc.engine.arena import arrange
from netcalc.engine.fuse import VIEWS, fuse, simplify
from netcalc.engine.graph import Node, flatten
from netcalc.engine.lower.context import Lowering, lowering_for
from netcalc.engine.lower.fallback import emit_kernel
from netcalc.engine.step import Constant, Step
from netcalc.engine.storage import Slot, Store
from netcalc.ir import Program

__all__ = ["Plan", "PlanMemory"]


class PlanMemory(NamedTuple):
    """Bytes that a plan holds while it runs.

    ``weights`` are the parameters in the form that the steps take; ``arena`` is where inputs and intermediate tensors
    lie; ``scratch`` is what the jobs of all threads write to for themselves; ``temporary`` is the most that one
    reference kernel allocates for its results; ``outputs`` are the copies that the caller gets.
    """

    weights: int
    arena: int
    scratch: int
    temporary: int
    outputs: int

    @property
    def activations(self) -> int:
        """All but the weights."""
        return self.arena + self.scratch + self.temporary + self.outputs

    @property
    def peak(self) -> int:
        """All of it."""
        return self.weights + self.activations


class Plan:
    """The steps of a program in evaluation mode on ``threads`` threads, which are ``processes`` where that is said.

    Processes share the products too, which are otherwise left to the threads of BLAS.

    Raises:
        UndecidedError: where a symbolic size has no value.
    """

    def __init__(self, program: Program, threads: int = 1, processes: bool = False) -> None:
        graph = flatten(program)
        simplify(graph)
        fuse(graph)
        low = Lowering(program, threads, processes, graph)
        self.inputs: list[Slot] = [low.new(tensor) for tensor in graph.inputs]
        for node in graph.nodes:
            _lower(low, node)
        self.program = program
        self.threads = threads
        self.processes = processes
        self.outputs: list[Slot] = [low.slot(tensor) for tensor in graph.outputs]
        #: Done once, when the parameters are there.
        self.prelude: list[Step] = [step for step in low.steps if step.constant]
        self.steps: list[Step] = [step for step in low.steps if not step.constant]
        self.constants: list[Constant] = low.constants
        #: Stores that keep what the prelude computes.
        self.kept: list[Store] = low.kept
        self.offsets, arena = arrange(_living(self.steps, self.inputs, self.outputs, low.fixed))
        #: Among how many workers the jobs of each step are shared.
        self.shares: dict[Step, int] = {step: step.shares(threads, processes) for step in low.steps}
        #: The bytes of each worker's scratch.
        self.scratch = [
            max((step.scratch_bytes for step, shares in self.shares.items() if shares > thread), default=0)
            for thread in range(threads)
        ]
        self.memory = PlanMemory(
            weights=sum(c.slot.store.nbytes for c in low.constants) + sum(s.nbytes for s in low.kept),
            arena=arena,
            scratch=sum(self.scratch),
            temporary=max((step.temporary for step in low.steps), default=0),
            outputs=sum(tensor.nbytes for tensor in graph.outputs),
        )
        self.reading = low.reading
        low.steps, low.constants = [], []  # they know the lowering, and memory in a circle would be freed late


def _lower(low: Lowering, node: Node) -> None:
    """The steps of a node; by its kernel alone, and then what was fused onto it, where no lowering takes it."""
    lower = None if node.constant and node.op.name not in VIEWS else lowering_for(node.op.name)
    if lower is not None and lower(low, node):
        return
    stages, node.after = node.after, []
    emit_kernel(low, node)
    for stage in stages:
        _lower(low, stage)


def _living(steps: Sequence[Step], inputs: Sequence[Slot], outputs: Sequence[Slot], fixed: set[Store]) -> list[Store]:
    """The stores of the arena, with the first and the last step between which each is in use."""
    living: dict[Store, None] = {}
    places = [(-1, inputs), *((i, (*s.reads, *s.writes)) for i, s in enumerate(steps)), (len(steps), outputs)]
    for position, slots in places:
        for store in (slot.store for slot in slots):
            if store in fixed:
                continue
            if store not in living:
                living[store] = None
                store.first = position
            store.last = position
    return list(living)
