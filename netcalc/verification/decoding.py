"""Decoding step by step against one pass over all positions.

A prefill takes the first positions, single steps take the others with the caches of the step before, and the outputs of
both together must equal the outputs of one full pass, by the reference kernels and as a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from netcalc.analysis.counting import operation_count
from netcalc.analysis.numbered import fold_numbered
from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance, instances
from netcalc.arrays import Array
from netcalc.diagnostics import NetcalcError
from netcalc.dims import integer
from netcalc.engine.preflight import build_plan
from netcalc.engine.runtime.session import Session
from netcalc.ir import Program
from netcalc.numerics.generators import generator
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.interpret import apply_at
from netcalc.numerics.kernels import Run
from netcalc.numerics.parameters import Parameters
from netcalc.opdef import Context
from netcalc.ops.routing import Experts
from netcalc.verification.planned import difference, largest_difference
from netcalc.verification.report import Check, Gap

#: Single steps after the prefill, or as many as the sequence has beyond its first two positions.
STEPS = 3
#: Return the program of a step, from the number of positions before it and in it.
AtStep: TypeAlias = Callable[[int, int], Program]
#: Run a program on inputs by name and return its outputs by name.
Execute: TypeAlias = Callable[[Program, Mapping[str, Array], Parameters], dict[str, Array]]


def execute_reference(program: Program, inputs: Mapping[str, Array], parameters: Parameters) -> dict[str, Array]:
    """Run a program operation by operation."""

    def evaluate(instance: Instance, operands: Sequence[Array | None]) -> Sequence[Array]:
        params = {param.name: parameters.fetch(instance, param) for param in instance.node.params}
        return apply_at(instance, Run(rng=generator(parameters.seed, "/run")), operands, params)

    outputs = unroll(program, [*run_inputs(program, inputs)], evaluate)
    return dict(zip(program.output_names, map(np.asarray, outputs), strict=True))


def execute_planned(program: Program, inputs: Mapping[str, Array], parameters: Parameters) -> dict[str, Array]:
    """Run a program as a plan."""
    session = Session(build_plan(program, threads=1), parameters, alone=True)
    return dict(zip(program.output_names, session(run_inputs(program, inputs)), strict=True))


def stepwise(
    program: Program, at_step: AtStep, inputs: Mapping[str, Array], steps: int, parameters: Parameters, execute: Execute
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the outputs of a prefill and single steps over the inputs of a full pass, and the caches at the end.

    The outputs of the steps are joined along the axis of the positions.

    Args:
        program: the full pass, without a past.
        at_step: maker of the program of a step.
        inputs: all inputs of the full pass, by name.
        steps: number of single steps; the prefill has the positions before them.
        parameters: the parameters, which have the same paths in every step.
        execute: the way to run a step.

    Raises:
        NetcalcError: if a step is refused.
    """
    length = integer(program.dims[str(program.caches.new)])
    prefill = length - steps
    parts: dict[str, list[Array]] = {}
    caches: dict[str, Array] = {}
    for past, new in ((0, prefill), *((position, 1) for position in range(prefill, length))):
        step = at_step(past, new)
        given = {s.name: _at_step(s.type.shape, inputs[s.name], past, new) for s in step.inputs if s.name in inputs}
        outputs = execute(step, {**given, **caches}, parameters)
        # a step leaves the keys and values of an encoder as they are, and has no such outputs
        caches |= {cache.input: outputs.pop(cache.output) for cache in step.caches.entries if cache.output in outputs}
        for name, array in outputs.items():
            parts.setdefault(name, []).append(array)
    return {name: _join_steps(arrays) for name, arrays in parts.items()}, caches


def decoding_checks(
    program: Program, at_step: AtStep, arrays: Sequence[Array], outputs: Sequence[Array], parameters: Parameters
) -> Iterator[Check | Gap]:
    """Yield a check for each output of a full pass: a prefill and single steps give the same.

    Args:
        program: the full pass.
        at_step: maker of the program of a step.
        arrays: its inputs, in order.
        outputs: its outputs, in order.
        parameters: its parameters.
    """
    what = "decoding step by step"
    caches, past = program.caches, program.dims.get(str(program.caches.past))
    if caches.past is None or caches.new is None or program.training:
        return
    length = integer(program.dims[caches.new])
    steps = min(STEPS, length - 2)  # a prefill of one position would be a step like the others
    if past != 0 or steps < 1:
        why = f"{caches.past} is {past}" if past != 0 else f"{caches.new} is {length}"
        yield Gap(what, f"{why}: it takes a full pass over at least 3 positions")
        return
    inputs = dict(zip((spec.name for spec in program.inputs), map(np.asarray, arrays), strict=True))
    try:
        obstacle = _obstacle(program, at_step, inputs, length, steps)
    except NetcalcError as error:
        obstacle = _messages(error)
    if obstacle is not None:
        yield Gap(what, obstacle)
        return
    full = dict(zip(program.output_names, map(np.asarray, outputs), strict=True))
    for kind, execute in (("decoded", execute_reference), ("planned decoding of", execute_planned)):
        try:
            later = at_step(length - steps, 1)
            if unread := _unread_caches(later):
                yield Gap(what, f"no line reads {', '.join(unread)}")
                return
            if lost := _lost_caches(at_step(0, length - steps), later):
                yield Gap(what, f"no output of a first step is {', '.join(lost)} of the next one")
                return
            decoded, _ = stepwise(program, at_step, inputs, steps, parameters, execute)
        except NetcalcError as error:
            yield Gap(what, _messages(error))
            return
        yield from _compare_outputs(
            kind, full, decoded, operation_count(program), f"{length - steps} + {steps} positions"
        )


def _messages(error: NetcalcError) -> str:
    return "; ".join(diagnostic.message for diagnostic in error.diagnostics)


def _obstacle(program: Program, at_step: AtStep, inputs: Mapping[str, Array], length: int, steps: int) -> str | None:
    """Return the reason why single steps cannot give what the full pass does, None if there is none."""
    if (path := _dropping_experts(program, at_step, length)) is not None:
        return f"{path}: a full pass drops tokens beyond the capacity of an expert, which a single step never does"
    if (name := _with_images(program, at_step, inputs, length - steps)) is not None:
        return f"{name} has features of an image in the last {steps} positions, and steps take text only"
    return None


def _unread_caches(step: Program) -> list[str]:
    """Return the caches of a step that no line reads, those of several layers as one."""
    unread = ((cache.input, None) for cache in step.caches.entries if cache.input in step.unread)
    return [names.name for names, _ in fold_numbered(unread)]


def _lost_caches(first: Program, later: Program) -> list[str]:
    """Return the caches that a later step takes and that the first step does not return, those of layers as one."""
    taken = {spec.name for spec in later.inputs}
    lost = [e.input for e in later.caches.entries if e.input in taken and e.output not in first.output_names]
    return [names.name for names, _ in fold_numbered((name, None) for name in lost)]


def _with_images(program: Program, at_step: AtStep, inputs: Mapping[str, Array], prefill: int) -> str | None:
    """Return the input of token ids with the var ``image_token`` behind the prefill, None if there is none."""
    token = program.vars.get("image_token")
    step = at_step(prefill, 1) if token is not None else None
    for spec in step.inputs if step is not None else ():
        ids = inputs.get(spec.name)
        if ids is not None and ids.dtype.kind == "i" and ids.ndim == 2 and bool((ids[:, prefill:] == token).any()):
            return spec.name
    return None


def _dropping_experts(program: Program, at_step: AtStep, length: int) -> str | None:
    """Return the path of experts of the decoder that cannot take all tokens of a full pass, None if there are none."""
    limited = {i.path: i for i in instances(program) if isinstance(i.node.op, Experts) and i.node.op.limited}
    later = at_step(length - 1, 1) if limited else None
    for instance in instances(later) if later is not None else ():  # without an encoder
        full = limited.get(instance.path)
        if full is not None and isinstance(full.node.op, Experts):
            x, weights, _ = (value.known_type.shape for value in full.node.inputs if value is not None)
            if full.node.op.places(Context(), x[-2], weights[-1]) < x[-2]:
                return instance.path
    return None


def _compare_outputs(
    kind: str, full: Mapping[str, Array], decoded: Mapping[str, Array], operations: int, positions: str
) -> Iterator[Check | Gap]:
    for name, array in decoded.items():
        if name not in full or full[name].shape != array.shape:
            continue  # an output that a full pass does not have, or the last position only
        equal = difference(full[name], array, operations) <= 1
        executed = f"{positions} as one pass" if equal else largest_difference(full[name], array)
        yield Check("", "", f"{kind} output {name}", f"{positions} as one pass", executed)


def _at_step(shape: Sequence[object], full: Array, past: int, new: int) -> Array:
    """Return what a step takes of an input of the full pass: along each axis the new positions, or all up to them."""
    for axis, size in enumerate(shape):
        if size != full.shape[axis]:
            full = full.take(range(past if size == new else 0, past + new), axis)
    return full


def _join_steps(arrays: Sequence[Array]) -> Array:
    """Return the outputs of the steps, joined along the axis in which a single step is shorter than the prefill."""
    first, last = arrays[0].shape, arrays[-1].shape
    axis = next((axis for axis, (long, short) in enumerate(zip(first, last, strict=True)) if long != short), None)
    return arrays[-1] if axis is None else np.concatenate(arrays, axis)
