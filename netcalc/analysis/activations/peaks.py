"""Peaks of the memory of activations, computed once for each body and state of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from netcalc.analysis.activations.bodies import Bodies, Given
from netcalc.analysis.activations.execution import Eager, Execution, Ideal
from netcalc.analysis.activations.records import Activations, LiveTensor
from netcalc.analysis.layout import Layout
from netcalc.dims import integer
from netcalc.ir import Program

__all__ = ["EXECUTIONS", "ExecutionName", "activations"]

ExecutionName: TypeAlias = Literal["ideal", "eager"]

#: The executions by name.
EXECUTIONS: Mapping[ExecutionName, Callable[[bool], Execution]] = {"ideal": Ideal, "eager": Eager}


def activations(program: Program, execution: ExecutionName = "ideal") -> Activations:
    """Return the memory of activations in a forward pass, without unrolling repeats.

    Raises:
        UndecidedError: E404 if a size is symbolic; see :func:`netcalc.ir.specialise.specialise`.
    """
    rules = EXECUTIONS[execution](program.training)
    layouts = [Layout.new(spec.type) for spec in program.inputs]
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
    live = tuple(inputs[tensor] if isinstance(tensor, int) else tensor for tensor in tensors)
    timeline = tuple(step._replace(bytes=step.bytes + held, base=step.base + held) for step in outcome.steps)
    return Activations(
        execution, peak.bytes + held, peak.path, peak.span, (*inputs, *live) if rules.frames else live, timeline
    )
