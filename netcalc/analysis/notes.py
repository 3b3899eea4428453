"""What a reader of a summary should be told without asking."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from netcalc.analysis.cost import Analysis
from netcalc.ir import Body, CallNode, OpNode, Value

__all__ = ["HeavyLayer", "heavy_layers"]

#: A layer is heavy that has this many parameters and at least half of all.
HEAVY = 100_000_000


class HeavyLayer(NamedTuple):
    """A linear layer that holds most of the network's parameters.

    ``sizes`` are those of the image that was flattened into its inputs, in the order height, width, channels; empty
    where none was.
    """

    path: str
    sizes: tuple[int, ...]
    inputs: int
    units: int
    params: int


def heavy_layers(analysis: Analysis) -> Iterator[HeavyLayer]:
    """The linear layers that hold most of the network's parameters."""
    total = analysis.total.params
    if not isinstance(total, int) or total < HEAVY:
        return
    producers = dict(_producers(analysis.program.main))
    for row in analysis.leaves():
        params = row.cost.params
        if row.op == "linear" and isinstance(params, int) and params >= HEAVY and params * 2 >= total:
            inputs, units = row.inputs[0].known_type.shape[-1], row.outputs[0].known_type.shape[-1]
            if isinstance(inputs, int) and isinstance(units, int):
                yield HeavyLayer(row.path, _sizes(row.inputs[0], inputs, producers), inputs, units, params)


def _sizes(source: Value, inputs: int, producers: dict[int, OpNode]) -> tuple[int, ...]:
    made = producers.get(id(source))
    flat = made.inputs[0] if made is not None and made.op.name in ("flatten", "reshape") else None
    if flat is None or flat.known_type.rank < 3:
        return ()
    _, channels, *axes = flat.known_type.shape
    sizes = tuple(size for size in (*axes, channels) if isinstance(size, int))
    return sizes if prod(sizes) == inputs else ()


def _producers(body: Body) -> Iterator[tuple[int, OpNode]]:
    """For each value, by identity, the operation that makes it."""
    seen: set[int] = set()
    pending = [body]
    while pending:
        here = pending.pop()
        if id(here) in seen:
            continue
        seen.add(id(here))
        for node in here.nodes:
            if isinstance(node, CallNode):
                pending.append(node.body)
            else:
                yield from ((id(value), node) for value in node.outputs)
