"""Fallback: an operation run by its reference kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.diagnostics import Diagnostic, NetcalcError, RuleError
from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.step import Buffers, Job, Step
from netcalc.engine.storage import Slot
from netcalc.numerics.generators import draws_at
from netcalc.numerics.kernels import Run, apply

_AS_DECLARED: Mapping[str, Any] = MappingProxyType({})


@contextmanager
def locate_errors(node: GraphNode) -> Iterator[None]:
    """Add the place of a node to errors that only the values show, such as an id outside the table.

    Raises:
        NetcalcError: for a RuleError raised within the context.
    """
    try:
        yield
    except RuleError as error:
        instance = node.instance
        message = f"{instance.path}: {error.message}"
        raise NetcalcError(Diagnostic(error.code, message, instance.node.span, hint=error.hint)) from None


def emit_kernel(
    context: LoweringContext, node: GraphNode, stored: Mapping[str, tuple[Slot, Callable[[Array], Any]]] = _AS_DECLARED
) -> None:
    """Emit a step that calls the kernel and copies its results; it runs once if all operands are constants.

    ``stored`` has the slots of parameters in another form, with functions that give what the kernel takes for them.
    """
    layout = context.layout
    sizes_only = not node.op.reads_values()
    inputs = [None if t is None else layout.slot(t) for t in node.inputs]
    params = {
        p.name: stored.get(p.name) or (context.constants.parameter(node, p.name), np.asarray)
        for p in node.instance.node.params
    }
    once = node.constant and (sizes_only or all(slot is None or layout.is_constant(slot) for slot in inputs))
    seed = context.constants.seed() if node.op.draws else None
    outputs = [layout.persist(t) if once else layout.allocate(t) for t in node.outputs]

    def bind(number: int, buffers: Buffers) -> Job:
        operands = tuple(
            None if slot is None else _without_memory(slot) if sizes_only else slot.array() for slot in inputs
        )
        parameters = {name: taken(slot.array()) for name, (slot, taken) in params.items()}
        targets = [slot.array() for slot in outputs]

        def job() -> None:
            run = Run() if seed is None else Run(rng=draws_at(int(seed.array()[0]), node.instance.path))
            with locate_errors(node):
                results = apply(node.op, run, operands, parameters)
            for target, result in zip(targets, results, strict=True):
                np.copyto(target, result)

        return job

    size = sum(t.nbytes for t in node.outputs) + context.temporaries(node.instance.node)
    used = (*([] if sizes_only else inputs), *(slot for slot, _ in params.values()), seed)
    reads = [slot for slot in used if slot is not None]
    context.emit.step(Step(node, reads, outputs, 1, bind, constant=once, temporary=size))


def _without_memory(slot: Slot) -> Array:
    """Return an array of zeros of this shape and type that takes no memory."""
    return np.broadcast_to(np.zeros((), slot.dtype), slot.shape)
