"""Operations that have steps of time, and the axis of these steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from netcalc.analysis.signal.remedies import RECURRENT
from netcalc.analysis.signal.trunk import Graph, trunks


class Steps(NamedTuple):
    """The axis of time of the outputs of operations, by number, and of the tensors of a network, with its length."""

    axes: Mapping[int, int]
    axis: int
    steps: int


def steps_of(graph: Graph) -> Steps | None:
    """Return the steps of recurrent layers, or of the first operation before causal attention; None for others."""
    axes: dict[int, int] = {}
    causal = None
    found: Steps | None = None
    for number, instance in enumerate(graph.instances):
        op: Any = instance.node.op
        type_ = instance.node.output_types[0]
        if op.name in RECURRENT:
            axes[number] = 1 if op.batch_first and type_.rank == 3 else 0
            found = Steps(axes, axes[number], int(type_.shape[axes[number]]))
        elif op.name == "scaled_dot_product_attention" and op.causal:
            causal = int(type_.shape[-2])
    main = next(trunks(graph), None)
    if found is None and causal is not None and main is not None:
        for number in main.numbers:
            type_ = graph.instances[number].node.output_types[0]
            if type_.rank >= 2 and type_.shape[-2] == causal:
                found = Steps({number: type_.rank - 2}, -2, causal)
                break
    return found if found is not None and found.steps > 2 else None
