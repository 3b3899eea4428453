"""Forward passes, planned or by the reference kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, Unpack, get_args

import numpy as np

from netcalc.analysis.counting import operation_count
from netcalc.analysis.memory import Memory, MemoryTotals
from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance
from netcalc.arrays import Array
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.engine.feasibility import require_work
from netcalc.engine.plan import Plan, PlanMemory
from netcalc.engine.preflight import (
    build_plan,
    reference_memory,
    reporting_memory,
    require_runnable,
    thread_count,
    why_unplanned,
)
from netcalc.engine.profile import Profile, profile
from netcalc.engine.runtime.loading import Loaded
from netcalc.engine.runtime.session import Session, Watch
from netcalc.engine.step import Step
from netcalc.ir import Program
from netcalc.numerics.initializers import generator
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.interpret import run_operation
from netcalc.numerics.kernels import Run
from netcalc.numerics.origin import Origin
from netcalc.numerics.parameters import Parameters
from netcalc.numerics.trace import MAX_VALUES, TensorRow, Tracer, TraceRow, tensor_rows
from netcalc.options import PlanName
from netcalc.process_memory import MemoryBaseline
from netcalc.results import Entry, recorded
from netcalc.run_options import ParameterOptions
from netcalc.weights.saved import TensorResult
from netcalc.weights.stored import kept_open

PLANS: tuple[PlanName, ...] = get_args(PlanName)

#: Called after each step and each loaded parameter, with the number done, the total, and the path of the last.
Progress: TypeAlias = Callable[[int, int, str], None]


@recorded(
    *("spec", "seed", Entry("inputs", "input_rows"), Entry("outputs", "rows"), "trace", "plan"),
    Entry("memory", "memory_totals"),
    Entry("profile", optional=True),
    name="run",
)
@dataclass(frozen=True, slots=True)
class RunResult(TensorResult):
    """The result of a forward pass."""

    spec: str
    """Name of the spec."""
    seed: int
    """Seed of everything drawn."""
    outputs: Mapping[str, Array]
    """Outputs by name."""
    trace: tuple[TraceRow, ...]
    """Traced outputs in order of execution."""
    buffers: Mapping[str, Array]
    """Buffers that training updated, by path."""
    memory: Memory | PlanMemory
    """The predicted memory, of the plan or of the reference path."""
    plan: PlanName
    """Way of execution: fast or reference."""
    profile: Profile | None = None
    origin: Origin = field(default_factory=Origin)
    inputs: Mapping[str, Array] = field(default_factory=dict)
    """Inputs of at most 64 elements by name, given and drawn."""

    @property
    def tensors(self) -> Mapping[str, Array]:
        """Outputs, traced tensors and updated buffers by name, without collisions."""
        tensors = {**self.outputs, **self._traced()}
        for path, array in self.buffers.items():
            tensors[f"buffers.{path}" if path in tensors else path] = array
        return tensors

    def _traced(self) -> dict[str, Array]:
        """Traced tensors by path, as ``trace.PATH`` where an output or an iteration of the same path has that name."""
        traced: dict[str, Array] = {}
        for row in self.trace:
            if row.array is None:
                continue
            name, number = row.path, 0
            while name in traced or name in self.outputs:
                name, number = f"trace.{row.path}{f'#{number}' if number else ''}", number + 1
            traced[name] = row.array
        return traced

    @property
    def rows(self) -> Mapping[str, TensorRow]:
        """The outputs with their statistics, by name."""
        return tensor_rows(self.outputs)

    @property
    def input_rows(self) -> Mapping[str, TensorRow]:
        """The inputs of at most 64 elements with their statistics, by name."""
        return tensor_rows(self.inputs)

    @property
    def memory_totals(self) -> MemoryTotals:
        """The predicted memory in bytes."""
        return MemoryTotals(self.memory.weights, self.memory.activations, self.memory.peak)


def forward(
    program: Program,
    inputs: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    trace: Sequence[str] = (),
    keep: bool = False,
    histogram: bool = False,
    progress: Progress | None = None,
    plan: PlanName = "fast",
    threads: int | None = None,
    processes: bool = False,
    profiled: bool = False,
    max_work: float | None = None,
    rng: np.random.Generator | None = None,
    **parameters: Unpack[ParameterOptions],
) -> RunResult:
    """Run the program once.

    Args:
        inputs: arrays by name; the others are drawn, see :func:`~netcalc.numerics.inputs.run_inputs`.
        seed: of everything drawn.
        trace: patterns of the paths of operations whose outputs are summarized; with ``keep`` their arrays are kept
            too.  The predicted memory does not include these.
        histogram: True for the distribution of each traced tensor, by default of the output of each layer.
        progress: called after each step, and in a planned run after each loaded parameter.
        plan: ``"reference"`` runs one operation after the other by its reference kernel, with the weights of one layer
            at a time in memory.  ``"fast"`` does so too if a plan cannot serve: for a trace, in training mode, or for
            more operations than :data:`~netcalc.limits.MAX_PLANNED_OPERATIONS`.
        threads: the number of threads of a planned run; the number of cores that this process may use when None.
        processes: True to share the work of a planned run among forked processes instead of threads, where the system
            supports it; see :class:`~netcalc.engine.compiled.Compiled`.
        profiled: True to time further passes of a planned run.
        max_work: the most work, see :func:`~netcalc.engine.feasibility.require_work`; the limits when None.
        rng: generator of what is drawn in training mode; by the seed when None.
        parameters: as for :class:`~netcalc.numerics.parameters.Parameters`.

    Raises:
        NetcalcError: E404 symbolic sizes; E502 bad ``init``, ``plan`` or ``threads``, or a profile of a run that is
            not planned; E503 a trace that matches nothing; E601 weights and E602 inputs that do not fit; E603 not
            enough memory or too much work; E604 an operation without kernel; E605 unreadable files.
    """
    thread_count(threads)
    trace = trace or (("*",) if histogram else ())
    planned = _is_planned(program, plan, trace, profiled)
    require_runnable(program)
    require_work(program, max_work)
    origin = Origin.of(program, inputs or (), parameters.get("weights"))
    if not planned:
        required = reference_memory(program)
        source = Parameters(program, seed=seed, **parameters)
        rng = rng or generator(seed, "/run")
        tracer = Tracer(program, trace, keep=keep, histogram=histogram)
        result = _reference(program, inputs, source, required, seed, rng, tracer, progress)
        return replace(result, origin=origin)
    baseline = MemoryBaseline.now()
    built = build_plan(program, threads, processes)
    source = Parameters(program, seed=seed, **parameters)
    arrays = run_inputs(program, inputs, seed)
    return replace(_run_plan(built, source, arrays, seed, progress, baseline if profiled else None), origin=origin)


def _is_planned(program: Program, plan: str, trace: Sequence[str], profiled: bool) -> bool:
    """Return True if a plan can serve; NetcalcError (E502) for an unknown plan, or a profile without a plan."""
    if plan not in PLANS:
        hint = did_you_mean(plan, PLANS)
        raise NetcalcError(Diagnostic("E502", f"there is no plan {plan!r}; plans are {' and '.join(PLANS)}", hint=hint))
    why = "the reference path was asked for" if plan == "reference" else "a trace was asked for" if trace else None
    why = why or why_unplanned(program)
    if profiled and why is not None:
        raise NetcalcError(Diagnostic("E502", f"only a planned run has a profile, and {why}"))
    return why is None


def _run_plan(
    plan: Plan,
    parameters: Parameters,
    arrays: Sequence[Array],
    seed: int,
    progress: Progress | None,
    baseline: MemoryBaseline | None,
) -> RunResult:
    """Run a plan; profile it too if ``baseline`` has the memory measured before it was built."""
    program = plan.program
    with reporting_memory(program, plan.memory):
        loaded, watch = (None, None) if progress is None else _callbacks(progress, plan)
        session = Session(plan, parameters, loaded)
        outputs = session(arrays, watch)
        times = None if baseline is None else profile(session, arrays, baseline)
    named = dict(zip(program.output_names, outputs, strict=True))
    given = small_inputs(program, arrays)
    return RunResult(program.name, seed, named, (), {}, plan.memory, "fast", times, inputs=given)


def small_inputs(program: Program, arrays: Sequence[Array]) -> dict[str, Array]:
    """Return copies of the inputs that are small enough to be printed, by name."""
    named = zip(program.inputs, arrays, strict=True)
    return {spec.name: np.array(array) for spec, array in named if array.size <= MAX_VALUES}


def _callbacks(progress: Progress, plan: Plan) -> tuple[Loaded, Watch]:
    """Return callbacks of a session that report the progress of loading and of the pass."""
    constants = len(plan.constants)
    total = constants + len(plan.steps)

    def loaded(count: int) -> None:
        progress(count, total, "weights")

    def watch(number: int, step: Step, seconds: float) -> None:
        progress(constants + number + 1, total, step.node.instance.path)

    return loaded, watch


def _reference(
    program: Program,
    inputs: Mapping[str, Any] | None,
    parameters: Parameters,
    required: Memory,
    seed: int,
    rng: np.random.Generator,
    tracer: Tracer,
    progress: Progress | None,
) -> RunResult:
    """Run operation by operation with the reference kernels, which need the ``required`` memory."""
    arrays: list[Array | None] = [*run_inputs(program, inputs, seed)]
    given = small_inputs(program, [array for array in arrays if array is not None])
    total, done = operation_count(program), 0
    buffers: dict[str, Array] = {}

    def evaluate(instance: Instance, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        nonlocal done
        node, owners = instance.node, instance.owners
        params = {
            p.name: buffers[owners[p.name]] if owners[p.name] in buffers else parameters.fetch(instance, p)
            for p in node.params
        }
        run = Run(training=program.training, rng=rng)
        with reporting_memory(program, required):
            outputs = run_operation(instance, run, operands, params)
        buffers.update((owners[name], array) for name, array in run.updates.items())
        done += 1
        tracer.record(instance.path, node, outputs, operands, params)
        if progress is not None:
            progress(done, total, instance.path)
        return outputs

    with kept_open():
        outputs = unroll(program, arrays, evaluate, tracer.record_call if tracer.patterns else None)
    named = dict(zip(program.output_names, outputs, strict=True))
    rows = tuple(tracer.rows)
    return RunResult(program.name, seed, named, rows, buffers, required, "reference", inputs=given)
