"""What a reader of a summary should be told without asking."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from netcalc.analysis.cost import Analysis, Row
from netcalc.ir import Body, CallNode, OpNode

__all__ = ["heavy_layers"]

#: A layer is heavy that has this many parameters and at least half of all.
HEAVY = 100_000_000


def heavy_layers(analysis: Analysis) -> Iterator[str]:
    """A sentence for each linear layer on a flattened image that holds most of the network's parameters."""
    total = analysis.total.params
    if not isinstance(total, int) or total < HEAVY:
        return
    producers = dict(_producers(analysis.program.main))
    for row in analysis.leaves():
        params = row.cost.params
        if row.op == "linear" and isinstance(params, int) and params >= HEAVY and params * 2 >= total:
            yield f"{row.path}: {_sizes(row, producers)} is {params:,} parameters"


def _sizes(row: Row, producers: dict[int, OpNode]) -> str:
    (source,) = row.inputs
    assert source.type is not None
    features = source.type.shape[-1]
    units = f"{row.outputs[0].type.shape[-1]:,} units" if row.outputs[0].type else "units"
    made = producers.get(id(source))
    flat = made.inputs[0] if made is not None and made.op.name in ("flatten", "reshape") else None
    if flat is not None and flat.type is not None and flat.type.rank > 2:
        _, *sizes = flat.type.shape
        sizes = [*sizes[1:], sizes[0]]  # an image is thought of as height, width, channels
        if all(isinstance(size, int) for size in sizes) and prod(sizes) == features:
            return f"{'×'.join(map(str, sizes))} = {features:,} inputs to {units}"
    return f"{features:,} inputs to {units}"


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


