"""Plans: the steps of a program, its memory layout and the memory that it takes, before anything is allocated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from netcalc.engine.arena import arrange
from netcalc.engine.fuse import fuse, simplify
from netcalc.engine.graph import GraphNode, flatten
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.fallback import emit_kernel
from netcalc.engine.lower.parallelism import Parallelism
from netcalc.engine.lower.registry import find_lowering
from netcalc.engine.step import Constant, Step
from netcalc.engine.storage import Slot, Store
from netcalc.engine.tuning import Tuning
from netcalc.ir import Program


class PlanMemory(NamedTuple):
    """Bytes that a plan holds while it runs.

    All but ``patterns`` and ``temporary`` are the exact sizes of what is allocated.

    Attributes:
        weights: parameters in the form that the steps take, and what is computed from them once.
        arena: one block for the inputs and the intermediate tensors of a pass, which share it by liveness.
        scratch: the scratch of all workers.
        patterns: at most the arrays that steps make once: vectors, such as a bias, repeated for long inner loops, and
            what attention adds to scores that causality hides.  Each worker process has its own.
        temporary: at most what the reference kernel of one step allocates, its results included; see
            :func:`~netcalc.analysis.temporaries.kernel_temporaries`.
        outputs: the copies that the caller receives.
        inputs: the arrays that a pass copies to the arena: those that are drawn, or the caller's.
    """

    weights: int
    arena: int
    scratch: int
    patterns: int
    temporary: int
    outputs: int
    inputs: int

    @property
    def activations(self) -> int:
        """All but the weights."""
        return self.arena + self.scratch + self.patterns + self.temporary + self.outputs + self.inputs

    @property
    def peak(self) -> int:
        """All of it."""
        return self.weights + self.activations


class Plan:
    """The steps of a program in evaluation mode.

    Args:
        program: the program; its sizes must be numbers.
        threads: the number of workers among which jobs are shared.
        processes: True if the workers are processes.  They also share products, which threads leave to BLAS.
        tuning: sizes of tiles and the algorithms that may be used; the defaults if None.

    Raises:
        UndecidedError: if a size is symbolic.
    """

    def __init__(
        self, program: Program, threads: int = 1, processes: bool = False, tuning: Tuning | None = None
    ) -> None:
        tuning = tuning or Tuning()
        graph = flatten(program)
        simplify(graph, tuning.constant_bytes)
        if tuning.fuse_epilogues:
            fuse(graph)
        context = LoweringContext(program, graph, Parallelism(threads, processes, tuning))
        layout, emitted = context.layout, context.emit.steps
        self.inputs: list[Slot] = [layout.allocate(tensor) for tensor in graph.inputs]
        for node in graph.nodes:
            _lower(context, node)
        self.program = program
        self.threads = threads
        self.processes = processes
        self.tuning = tuning
        self.outputs: list[Slot] = [layout.slot(tensor) for tensor in graph.outputs]
        #: Steps that are run once, when the parameters are loaded.
        self.prelude: list[Step] = [step for step in emitted if step.constant]
        self.steps: list[Step] = [step for step in emitted if not step.constant]
        self.constants: list[Constant] = list(context.constants.declared)
        #: Stores that hold the results of the prelude.
        self.persistent_stores: list[Store] = layout.persistent
        lifetimes = _lifetimes(self.steps, self.inputs, self.outputs, layout.constant_stores)
        self.offsets, arena = arrange(lifetimes, tuning.centered_bytes if processes and threads > 1 else 0)
        #: The number of workers among which the jobs of each step are shared.
        self.workers_by_step: dict[Step, int] = {step: step.workers(threads, processes, tuning) for step in emitted}
        #: Bytes of scratch of each worker.
        self.scratch = [
            max((step.scratch_bytes for step, workers in self.workers_by_step.items() if workers > worker), default=0)
            for worker in range(threads)
        ]
        self.memory = PlanMemory(
            weights=sum(c.slot.store.nbytes for c in self.constants) + sum(s.nbytes for s in self.persistent_stores),
            arena=arena,
            scratch=sum(self.scratch),
            patterns=sum(context.patterns.values()) * (threads if processes else 1),
            temporary=max([context.temporary, *(step.temporary for step in emitted)]),
            outputs=sum(tensor.nbytes for tensor in graph.outputs),
            inputs=sum(tensor.nbytes for tensor in graph.inputs),
        )
        self.reading = context.constants.reading
        # their closures refer to the context; a reference cycle would be freed late
        context.emit.steps.clear()
        context.constants.declared.clear()


def _lower(context: LoweringContext, node: GraphNode) -> None:
    """Lower a node.  Without a lowering, or if it declines, the kernel runs alone and fused nodes are lowered apart."""
    by_kernel = (node.constant and not node.op.view) or node.op.name in context.tuning.disabled_lowerings
    lower = None if by_kernel else find_lowering(node.op)
    if lower is not None and lower(context, node):
        return
    stages, node.after = node.after, []
    emit_kernel(context, node)
    for stage in stages:
        _lower(context, stage)


def _lifetimes(
    steps: Sequence[Step], inputs: Sequence[Slot], outputs: Sequence[Slot], fixed: set[Store]
) -> list[Store]:
    """Return the stores of the arena, with the first and the last step that use each set on it."""
    stores: dict[Store, None] = {}
    uses = [(-1, inputs), *((i, (*s.reads, *s.writes)) for i, s in enumerate(steps)), (len(steps), outputs)]
    for position, slots in uses:
        for store in (slot.store for slot in slots):
            if store in fixed:
                continue
            if store not in stores:
                stores[store] = None
                store.first = position
            store.last = position
    return list(stores)
