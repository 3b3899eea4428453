"""Running an operation by its reference kernel, where the planner knows nothing better."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from netcalc.diagnostics import Diagnostic, NetcalcError, RuleError
from netcalc.engine.graph import Node
from netcalc.engine.lower.context import Lowering
from netcalc.engine.step import Job, Step
from netcalc.numerics.kernels import Array, Run, apply

__all__ = ["blaming", "emit_kernel"]


@contextmanager
def blaming(node: Node) -> Iterator[None]:
    """What only the numbers show, such as an id that is in no row, is said of this node."""
    try:
        yield
    except RuleError as error:
        instance = node.instance
        message = f"{instance.path}: {error.message}"
        raise NetcalcError(Diagnostic(error.code, message, instance.node.span, hint=error.hint)) from None


def emit_kernel(low: Lowering, node: Node) -> None:
    """A step that calls the kernel and copies what it gives."""
    inputs = [None if t is None else low.slot(t) for t in node.inputs]
    params = {p.name: low.stored(node, p.name) for p in node.instance.node.params}
    once = node.constant and all(slot is None or slot.store in low.fixed for slot in inputs)
    outputs = [low.keep(t) if once else low.new(t) for t in node.outputs]

    def bind(index: int, arrays: Sequence[Array]) -> Job:
        given = tuple(None if slot is None else slot.array() for slot in inputs)
        named = {name: slot.array() for name, slot in params.items()}
        goals = [slot.array() for slot in outputs]

        def job() -> None:
            with blaming(node):
                results = apply(node.op, Run(), given, named)
            for goal, result in zip(goals, results, strict=True):
                np.copyto(goal, result)

        return job

    size = sum(t.nbytes for t in node.outputs)
    reads = [slot for slot in (*inputs, *params.values()) if slot is not None]
    low.emit(Step(node, reads, outputs, 1, bind, constant=once, temporary=size))
