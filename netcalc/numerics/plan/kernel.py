"""Running an operation by its reference kernel, where the planner knows nothing better."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netcalc.diagnostics import Diagnostic, NetcalcError, RuleError
from netcalc.numerics.kernels import Array, Run, apply
from netcalc.numerics.plan.graph import Node
from netcalc.numerics.plan.lowering import Lowering
from netcalc.numerics.plan.step import Job, Step

__all__ = ["emit_kernel"]


def emit_kernel(low: Lowering, node: Node) -> None:
    """A step that calls the kernel and copies what it gives."""
    inputs = [None if t is None else low.slot(t) for t in node.inputs]
    params = {p.name: low.stored(node, p.name) for p in node.instance.node.params}
    once = all(slot is None or slot.store in low.fixed for slot in inputs)
    outputs = [low.keep(t) if once else low.new(t) for t in node.outputs]
    instance = node.instance

    def bind(index: int, arrays: Sequence[Array]) -> Job:
        given = tuple(None if slot is None else slot.array() for slot in inputs)
        named = {name: slot.array() for name, slot in params.items()}
        goals = [slot.array() for slot in outputs]

        def job() -> None:
            try:
                results = apply(node.op, Run(), given, named)
            except RuleError as error:
                message = f"{instance.path}: {error.message}"
                raise NetcalcError(Diagnostic(error.code, message, instance.node.span, hint=error.hint)) from None
            for goal, result in zip(goals, results, strict=True):
                np.copyto(goal, result)

        return job

    size = sum(t.nbytes for t in node.outputs)
    reads = [slot for slot in (*inputs, *params.values()) if slot is not None]
    low.emit(Step(node, reads, outputs, 1, bind, constant=once, temporary=size))
