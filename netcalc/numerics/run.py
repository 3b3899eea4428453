"""A forward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from netcalc.analysis.memory import Memory, memory
from netcalc.analysis.walk import Instance, instances
from netcalc.diagnostics import Diagnostic, NetcalcError, RuleError
from netcalc.ir import Body, OpNode, Program
from netcalc.numerics.free import free_bytes, gibibytes
from netcalc.numerics.initializers import generator
from netcalc.numerics.inputs import require_sizes, run_inputs
from netcalc.numerics.interpret import interpret, operations
from netcalc.numerics.kernels import Array, Run, apply, kernel_for
from netcalc.numerics.trace import Tracer, TraceRow
from netcalc.numerics.weights import Parameters, Weights

__all__ = ["Progress", "RunResult", "forward", "prepare"]

#: Told after each operation: how many are done, how many there are, the path of the last.
Progress: TypeAlias = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a forward pass gave.

    ``outputs`` by name; ``trace`` in order of execution; ``buffers`` holds the buffers that training updated, by path;
    ``memory`` is what the pass was predicted to take.
    """

    outputs: Mapping[str, Array]
    trace: tuple[TraceRow, ...]
    buffers: Mapping[str, Array]
    memory: Memory


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
        progress: called after each operation.

    Raises:
        NetcalcError: E404 symbolic sizes; E502 bad ``init``; E503 a trace that matches nothing; E601 weights and E602
            inputs that do not fit; E603 not enough memory; E604 no kernel; E605 unreadable files.
    """
    if training is not None:
        program = replace(program, training=training)
    required = prepare(program)
    parameters = Parameters(program, weights, init=init, seed=seed)
    tracer = Tracer(program, trace, keep=keep)
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
            raise NetcalcError(_too_large(program, required, free_bytes())) from None
        buffers.update((owners[name], array) for name, array in run.updates.items())
        done += 1
        tracer.see(instance.path, node.op.name, outputs)
        if progress is not None:
            progress(done, total, instance.path)
        return outputs

    outputs = interpret(program, arrays, evaluate, tracer.leave if trace else None)
    return RunResult(dict(zip(program.output_names, outputs, strict=True)), tuple(tracer.rows), buffers, required)


def _apply(
    instance: Instance, run: Run, inputs: Sequence[Array | None], params: Mapping[str, Array]
) -> tuple[Array, ...]:
    """One operation's outputs; NetcalcError for what only the numbers show, such as an id that is in no row."""
    try:
        return apply(instance.node.op, run, tuple(inputs), params)
    except RuleError as error:
        message = f"{instance.path}: {error.message}"
        raise NetcalcError(Diagnostic(error.code, message, instance.node.span, hint=error.hint)) from None


def prepare(program: Program) -> Memory:
    """What a run of the program takes, once it is sure that it can run.

    Raises:
        NetcalcError: E404 symbolic sizes, E604 an operation without kernel, E603 not enough memory.
    """
    require_sizes(program)
    _require_kernels(program)
    required, free = memory(program), free_bytes()
    if required.peak > free:
        raise NetcalcError(_too_large(program, required, free))
    return required


def _too_large(program: Program, required: Memory, free: int) -> Diagnostic:
    message = (
        f"a run of {program.name!r} takes {gibibytes(required.peak)} of memory, at {required.peak_at!r}, and "
        f"{gibibytes(free)} are free (weights {gibibytes(required.weights)} in all, values up to "
        f"{gibibytes(required.activations)})"
    )
    return Diagnostic("E603", message, hint="smaller sizes (--set) take less, and shapes, params and flops take none")


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
