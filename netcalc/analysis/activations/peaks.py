"""Peaks of the memory of activations, computed once for each body and state of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Literal, TypeAlias

from netcalc.analysis.activations.bodies import Bodies, Given
from netcalc.analysis.activations.execution import Eager, Execution, Ideal
from netcalc.analysis.activations.records import Activations, LiveTensor
from netcalc.analysis.layout import Layout
from netcalc.dims import integer
from netcalc.ir import Program
from netcalc.options import AttentionKernel

ExecutionName: TypeAlias = Literal["ideal", "eager"]

#: The executions by name, of a mode and a kernel of attention.
EXECUTIONS: Mapping[ExecutionName, Callable[[bool, AttentionKernel], Execution]] = {
    "ideal": lambda training, attention: Ideal(training),
    "eager": Eager,
}


def activations(
    program: Program, execution: ExecutionName = "ideal", attention: AttentionKernel = "sdpa-cpu"
) -> Activations:
    """Return the memory of activations in a forward pass, without unrolling repeats.

    ``attention`` is the kernel of attention under eager execution.

    Raises:
        UndecidedError: E404 if a size is symbolic; see :func:`netcalc.ir.specialize.specialize`.
    """
    return activations_by(EXECUTIONS[execution](program.training, attention), program, execution)


def activations_by(
    rules: Execution, program: Program, execution: ExecutionName = "ideal", parameters: Collection[str] = ()
) -> Activations:
    """Return the memory of activations by the rules of an execution; that of inputs in ``parameters`` does not count.

    Raises:
        UndecidedError: E404 if a size is symbolic.
    """
    layouts = [Layout.new(spec.type, parameter=spec.name in parameters) for spec in program.inputs]
    arguments = [Given(layout, owned=not rules.frames) for layout in layouts]
    bodies = Bodies(rules)
    outcome = bodies.outcome(program.main, arguments)
    inputs = tuple(
        LiveTensor(spec.name, tuple(map(integer, spec.type.shape)), spec.type.dtype, layout.storage.nbytes)
        for spec, layout in zip(program.inputs, layouts, strict=True)
    )
    held = sum(tensor.bytes for tensor in inputs) if rules.frames else 0
    peak = outcome.peak
    tensors = bodies.live(program.main, arguments)
    live = [inputs[tensor] if isinstance(tensor, int) else tensor for tensor in tensors]
    if rules.frames:
        live[:0] = inputs
    timeline = tuple(step._replace(bytes=step.bytes + held, base=step.base + held) for step in outcome.steps)
    counted = tuple(tensor for tensor in live if tensor.path not in parameters)
    return Activations(execution, peak.bytes + held, peak.path, peak.span, counted, timeline)
