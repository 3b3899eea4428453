"""A forward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from netcalc.analysis.memory import Memory
from netcalc.analysis.walk import Instance
from netcalc.diagnostics import Diagnostic, NetcalcError, RuleError, did_you_mean
from netcalc.engine.plan import Plan, PlanMemory
from netcalc.engine.preflight import prepare, prepare_plan, thread_count, too_large, unplanned
from netcalc.engine.profile import Profile, profile
from netcalc.engine.runtime.session import Session, Watch
from netcalc.engine.step import Step
from netcalc.ir import Program
from netcalc.numerics.initializers import generator
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.interpret import interpret, operations
from netcalc.numerics.kernels import Array, Run, apply
from netcalc.numerics.parameters import Parameters, Weights
from netcalc.numerics.process_memory import Growth, free_bytes
from netcalc.numerics.trace import Tracer, TraceRow

__all__ = ["PLANS", "PlanName", "Progress", "RunResult", "forward", "prepare"]

#: How a run goes about its work: planned as a whole, or operation by operation.
PlanName: TypeAlias = Literal["fast", "reference"]
PLANS: tuple[PlanName, ...] = get_args(PlanName)

#: Told after each step, and each parameter loaded: how many are done, how many there are, the path of the last.
Progress: TypeAlias = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a forward pass gave.

    ``outputs`` by name; ``trace`` in order of execution; ``buffers`` holds the buffers that training updated, by path;
    ``memory`` is what the pass was predicted to take, in the form of the ``plan`` that was followed.
    """

    outputs: Mapping[str, Array]
    trace: tuple[TraceRow, ...]
    buffers: Mapping[str, Array]
    memory: Memory | PlanMemory
    plan: PlanName
    profile: Profile | None = None


def forward(
    program: Program,
    inputs: Mapping[str, Any] | None = None,
    *,
    weights: Weights | None = None,
    init: str | Iterable[str] = "default",
    seed: int = 0,
    trace: Sequence[str] = (),
    keep: bool = False,
    training: bool | None = None,
    progress: Progress | None = None,
    plan: PlanName = "fast",
    threads: int | None = None,
    profiled: bool = False,
) -> RunResult:
    """Runs the program once.

    Args:
        inputs: arrays by name; the others are drawn, see :func:`~netcalc.numerics.inputs.run_inputs`.
        weights: a ``.safetensors`` or ``.npz`` file, or arrays by name; drawn by ``init`` when None.
        init: ``--init`` options, see :meth:`~netcalc.numerics.initializers.Initializers.of`.
        seed: of everything drawn.
        trace: patterns of paths whose outputs are looked at; ``keep`` keeps their arrays too, which the prediction of
            memory does not include.
        training: the mode of dropout and batch statistics; the program's own when None.
        progress: called after each step, and in a planned run after each parameter that is loaded.
        plan: ``"reference"`` runs one operation after the other by its plain kernel, one layer's weights in memory at a
            time.  So does ``"fast"`` where there is something that a plan does not keep or do: a trace, training mode,
            more operations than :data:`~netcalc.engine.preflight.MOST_PLANNED`.
        threads: of a planned run; as many as there are cores that this process may use, when None.
        profiled: times a few more passes of a planned run.

    Raises:
        NetcalcError: E404 symbolic sizes; E502 bad ``init``, ``plan`` or ``threads``, or a profile of what is not
            planned; E503 a trace that matches nothing; E601 weights and E602 inputs that do not fit; E603 not enough
            memory; E604 no kernel; E605 unreadable files.
    """
    if training is not None:
        program = replace(program, training=training)
    if plan not in PLANS:
        hint = did_you_mean(plan, PLANS)
        raise NetcalcError(Diagnostic("E502", f"there is no plan {plan!r}; plans are {' and '.join(PLANS)}", hint=hint))
    thread_count(threads)
    why = "the reference path was asked for" if plan == "reference" else "a trace was asked for" if trace else None
    why = why or unplanned(program)
    if profiled and why is not None:
        raise NetcalcError(Diagnostic("E502", f"only a planned run has a profile, and {why}"))
    if why is None:
        return _planned(program, inputs, weights, init, seed, threads, progress, profiled)
    return _stepwise(program, inputs, weights, init, seed, Tracer(program, trace, keep=keep), progress)


def _planned(
    program: Program,
    inputs: Mapping[str, Any] | None,
    weights: Weights | None,
    init: str | Iterable[str],
    seed: int,
    threads: int | None,
    progress: Progress | None,
    profiled: bool,
) -> RunResult:
    """The program as a whole, by a plan."""
    growth = Growth.start()
    plan = prepare_plan(program, threads)
    parameters = Parameters(program, weights, init=init, seed=seed)
    arrays = run_inputs(program, inputs, seed)
    try:
        loaded, watch = (None, None) if progress is None else _told(progress, plan)
        session = Session(plan, parameters, loaded)
        outputs = session(arrays, watch)
        times = profile(session, arrays, growth) if profiled else None
    except MemoryError:
        raise NetcalcError(too_large(program, plan.memory, free_bytes())) from None
    return RunResult(dict(zip(program.output_names, outputs, strict=True)), (), {}, plan.memory, "fast", times)


def _told(progress: Progress, plan: Plan) -> tuple[Callable[[int], None], Watch]:
    """What tells of a planned run's progress, while parameters are loaded and while steps are taken."""
    constants = len(plan.constants)
    total = constants + len(plan.steps)

    def loaded(count: int) -> None:
        progress(count, total, "weights")

    def watch(number: int, step: Step, seconds: float) -> None:
        progress(constants + number + 1, total, step.node.instance.path)

    return loaded, watch


def _stepwise(
    program: Program,
    inputs: Mapping[str, Any] | None,
    weights: Weights | None,
    init: str | Iterable[str],
    seed: int,
    tracer: Tracer,
    progress: Progress | None,
) -> RunResult:
    """Operation by operation, each by its plain kernel."""
    required = prepare(program)
    parameters = Parameters(program, weights, init=init, seed=seed)
    arrays: list[Array | None] = [*run_inputs(program, inputs, seed)]
    total, done = operations(program), 0
    rng = generator(seed, "/run")
    buffers: dict[str, Array] = {}

    def evaluate(instance: Instance, given: Sequence[Array | None]) -> tuple[Array, ...]:
        nonlocal done
        node, owners = instance.node, instance.owners
        params = {
            p.name: buffers[owners[p.name]] if owners[p.name] in buffers else parameters.fetch(instance, p)
            for p in node.params
        }
        run = Run(training=program.training, rng=rng)
        try:
            outputs = _apply(instance, run, given, params)
        except MemoryError:
            raise NetcalcError(too_large(program, required, free_bytes())) from None
        buffers.update((owners[name], array) for name, array in run.updates.items())
        done += 1
        tracer.see(instance.path, node.op.name, outputs)
        if progress is not None:
            progress(done, total, instance.path)
        return outputs

    outputs = interpret(program, arrays, evaluate, tracer.leave if tracer.patterns else None)
    named = dict(zip(program.output_names, outputs, strict=True))
    return RunResult(named, tuple(tracer.rows), buffers, required, "reference")


def _apply(
    instance: Instance, run: Run, inputs: Sequence[Array | None], params: Mapping[str, Array]
) -> tuple[Array, ...]:
    """One operation's outputs; NetcalcError for what only the numbers show, such as an id that is in no row."""
    try:
        return apply(instance.node.op, run, tuple(inputs), params)
    except RuleError as error:
        message = f"{instance.path}: {error.message}"
        raise NetcalcError(Diagnostic(error.code, message, instance.node.span, hint=error.hint)) from None
