"""The working of a layer in numbers, and what initializers draw, for explanations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from netcalc.analysis.explain_init import init_lines
from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance, instances
from netcalc.analysis.working import Section
from netcalc.arrays import Array
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.engine.feasibility import require_work
from netcalc.engine.gradients import seeds_of, wanted_paths
from netcalc.engine.preflight import gradient_memory, reference_memory, reporting_memory, require_runnable
from netcalc.inits import InitRules
from netcalc.ir import Program
from netcalc.numerics.initializers import generator
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.interpret import run_operation
from netcalc.numerics.kernels import Run
from netcalc.numerics.parameters import Parameters
from netcalc.numerics.tape import Record, Tape
from netcalc.numerics.trace import MAX_VALUES, matches
from netcalc.numerics.vjps import Back, Gradients, apply_vjp
from netcalc.numerics.working import WORKINGS, Call
from netcalc.numerics.working.lines import lines_of
from netcalc.numerics.working.text import rows
from netcalc.opdef import WorkingLine
from netcalc.run_options import ParameterOptions


class _DoneError(Exception):
    """Raised when the layer has run, since nothing behind it is needed."""


def working_sections(
    program: Program,
    path: str,
    inputs: Mapping[str, Any] | None = None,
    *,
    at: Sequence[int] = (),
    backward: bool = False,
    loss: str | Mapping[str, Any] | None = None,
    seed: int = 0,
    max_work: float | None = None,
    **parameters: Unpack[ParameterOptions],
) -> tuple[Section, ...]:
    """Return the working of the layer at ``path`` in numbers, of the first of several instances.

    Args:
        inputs: arrays by name; the others are drawn.
        at: indices of axes of the output, from the first on, that choose what is explained.
        backward: True for the gradients of the layer too, from the ``loss``.
        seed, max_work, parameters: as for :func:`~netcalc.engine.run.forward`.

    Raises:
        NetcalcError: as ``forward`` does; E502 for a path of several operations, and an index out of range.
    """
    require_runnable(program)
    require_work(program, max_work)
    target = next((one for one in instances(program) if matches(one.path, path)), None)
    if target is None:
        hint = "name a layer, as netcalc shapes lists them"
        raise NetcalcError(Diagnostic("E502", f"{path!r} is no single layer, whose values could be shown", hint=hint))
    source = Parameters(program, seed=seed, **parameters)
    arrays = run_inputs(program, inputs, seed)
    wanted = target.path
    with reporting_memory(program, gradient_memory(program) if backward else reference_memory(program)):
        if backward:
            call = _with_gradients(program, wanted, arrays, source, loss, seed)
        else:
            call = _forward(program, wanted, arrays, source, seed)
    call = replace(call, at=tuple(at), training=program.training)
    lines = [*_operands(call), *lines_of(call)]
    sections = [Section("values", tuple(lines), f"of {target.path}")]
    gradients = tuple(_gradient_lines(call))
    return (*sections, *((Section("values of gradients", gradients),) if gradients else ()))


def _operands(call: Call) -> Iterator[WorkingLine]:
    """Yield the inputs and outputs of an operation without a rule, if they are small."""
    if WORKINGS.get(call.op.name) is not None or call.op.elementwise:
        return
    named = [("input", call.inputs), ("output", call.outputs)]
    for name, tensors in named:
        for number, array in enumerate(tensors):
            if array is not None and array.size <= MAX_VALUES:
                yield from rows(name if len(tensors) == 1 else f"{name} {number}", array)


def _gradient_lines(call: Call) -> Iterator[WorkingLine]:
    """Yield the gradients that arrive at a layer, and those that it sends, if they are small."""
    arrived = ((f"d output {n}" if n else "d output", array) for n, array in enumerate(call.arrived))
    sent = (
        (f"d input {key}" if isinstance(key, int) and key else f"d {key or 'input'}", a) for key, a in call.sent.items()
    )
    for name, array in (*arrived, *sent):
        if array is not None and array.size <= MAX_VALUES:
            yield from rows(name, np.asarray(array, np.float64))
        elif array is not None:
            norm = float(np.linalg.norm(np.asarray(array, np.float64)))
            yield WorkingLine(name, "norm", "", norm)


def _forward(program: Program, wanted: str, arrays: Sequence[Array], source: Parameters, seed: int) -> Call:
    """Run the operations up to the wanted one."""
    found: list[Call] = []
    rng = generator(seed, "/run")
    buffers: dict[str, Array] = {}

    def evaluate(instance: Instance, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        node, owners = instance.node, instance.owners
        params = {
            p.name: buffers[owners[p.name]] if owners[p.name] in buffers else source.fetch(instance, p)
            for p in node.params
        }
        run = Run(training=program.training, rng=rng)
        outputs = run_operation(instance, run, operands, params)
        buffers.update((owners[name], array) for name, array in run.updates.items())
        if instance.path == wanted:
            found.append(Call(node.op, tuple(operands), params, outputs))
            raise _DoneError
        return outputs

    with suppress(_DoneError):
        unroll(program, [*arrays], evaluate)
    return found[0]


def _with_gradients(
    program: Program,
    wanted: str,
    arrays: Sequence[Array],
    source: Parameters,
    loss: str | Mapping[str, Any] | None,
    seed: int,
) -> Call:
    """Run the whole program forward and backward; keep what the wanted operation takes and gives."""
    found: dict[str, Any] = {}

    def forward(instance: Instance, run: Run, operands: Sequence[Array | None], params: Mapping[str, Array]) -> Any:
        outputs = run_operation(instance, run, operands, params)
        if instance.path == wanted and not found:
            found.update(op=instance.node.op, inputs=tuple(operands), params=dict(params), outputs=outputs)
        return outputs

    def product(record: Record, back: Back, gradients: tuple[Array | None, ...]) -> Gradients:
        sent = apply_vjp(record.instance.node.op, back, gradients)
        if record.instance.path == wanted:  # the last one wins, which is the first instance
            found.update(arrived=gradients, sent=dict(sent))
        return sent

    floats = frozenset(spec.name for spec in program.inputs if spec.type.is_float)
    names, _ = wanted_paths(program, None)
    tape = Tape(program, source.fetch, names.__contains__, floats, generator(seed, "/run"), forward)
    outputs = dict(zip(program.output_names, tape.run([*arrays]), strict=True))
    _, seeds = seeds_of(program, outputs, loss)
    for _ in tape.backward(seeds, product):
        pass
    return Call(**found)


def initial_sections(program: Program, path: str, init: str | Iterable[str], seed: int) -> Iterator[Section]:
    """Yield a section for each parameter of the layer at ``path``: formulas of its initializer, and what is drawn.

    Raises:
        NetcalcError: E502 for an initializer that does not exist or apply.
    """
    require_runnable(program)
    target = next((one for one in instances(program) if matches(one.path, path) and one.node.params), None)
    if target is None:
        return
    rules, source = InitRules.of(program, init), Parameters(program, init=init, seed=seed)
    for param in target.node.params:
        if param.is_buffer:
            continue
        lines = [*init_lines(rules, target.owners[param.name], param)]
        drawn = np.asarray(source.fetch(target, param), np.float64)
        if drawn.size:
            figures = (
                ("minimum", drawn.min()),
                ("maximum", drawn.max()),
                ("mean", drawn.mean()),
                ("deviation", drawn.std()),
            )
            lines += (WorkingLine(f"drawn: {name}", "", "", float(value)) for name, value in figures)
        title = f"initial {param.name or 'value'}"
        yield Section(title, tuple(lines), f"{target.owners[param.name]}, {drawn.size:,} numbers, seed {seed}")
