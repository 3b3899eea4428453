"""Remarks that reports add to their figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import NamedTuple

from netcalc.analysis.cost import Analysis
from netcalc.analysis.figures import View
from netcalc.analysis.rows import Row
from netcalc.ir import Body, CallNode, OpNode, Program, Value

#: Remark on figures of the training mode, which are easily taken for figures of a training step.
TRAINING_MODE = "training mode: a forward pass; no backward pass, no update of parameters"

#: Remark on figures of a backward pass or a step of training.
_MODES = {False: "eval mode", True: "training mode"}

#: A heavy layer has at least this many parameters, and at least half of all parameters of the network.
HEAVY = 100_000_000


class HeavyLayer(NamedTuple):
    """A linear layer that holds at least half of the network's parameters.

    ``sizes`` are the height, width and channels of the image that was flattened into the input of the layer; empty if
    the input is not a flattened image.
    """

    path: str
    sizes: tuple[int, ...]
    inputs: int
    units: int
    params: int


def notes_in(program: Program, view: View) -> tuple[str, ...]:
    """Return the remarks on what a view shows: `shapes` counts nothing, and `params` no work."""
    origin = program.origin_notes
    return {"shapes": origin, "params": (*origin, *program.storage_notes)}.get(view, program.notes)


def step_note(analysis: Analysis) -> str:
    """Return the parts of a step of training that are counted, and the mode."""
    assert analysis.backward is not None
    parts = f"forward and backward pass from {analysis.backward.start}"
    if analysis.optimizer is not None:
        parts = f"a step of training: {parts}, update by {analysis.optimizer}"
    return f"{parts}; {_MODES[analysis.program.training]}"


def not_computed(unknown: Iterable[str], declared: Mapping[str, str]) -> Iterator[str]:
    """Yield remarks on work that is not known, and on operators whose figures are declared, with their origin."""
    if unknown:
        yield f"sums are at least what they are; work that is not known: {', '.join(unknown)}"
    if declared:
        operators = (named(operator, source) for operator, source in declared.items())
        yield f"declared, not computed: the figures of {', '.join(operators)}"


def not_computed_below(analysis: Analysis, rows: Iterable[Row]) -> Iterator[str]:
    """Yield the remarks of :func:`not_computed` on what is below some rows."""
    unknown: dict[str, None] = {}
    declared: dict[str, str] = {}
    pending = [*rows]
    while pending:
        row = pending.pop(0)
        pending[:0] = row.children
        work = row.node.op.declared() if isinstance(row.node, OpNode) else None
        if work is not None and isinstance(row.node, OpNode):
            unknown.update(dict.fromkeys(analysis.unknown_of(row.node)))
            declared.update({} if work.source is None else {work.operator: work.source})
    yield from not_computed(unknown, declared)


def named(operator: str, source: str) -> str:
    """Return the name of an operator whose figures are declared, with the origin of these if it is given."""
    return f"{operator} ({source})" if source else operator


def heavy_layers(analysis: Analysis) -> Iterator[HeavyLayer]:
    """Yield the linear layers that hold at least half of the network's parameters."""
    total = analysis.total.params
    if not isinstance(total, int) or total < HEAVY:
        return
    producers = dict(_producers(analysis.program.main))
    for row in analysis.counted_leaves():
        params = row.cost.params
        if row.op == "linear" and isinstance(params, int) and params >= HEAVY and params * 2 >= total:
            inputs, units = row.inputs[0].known_type.shape[-1], row.outputs[0].known_type.shape[-1]
            if isinstance(inputs, int) and isinstance(units, int):
                yield HeavyLayer(row.path, _image_sizes(row.inputs[0], inputs, producers), inputs, units, params)


def _image_sizes(value: Value, elements: int, producers: dict[int, OpNode]) -> tuple[int, ...]:
    """Return the sizes of the image that was flattened into ``value``; empty if there is none."""
    producer = producers.get(id(value))
    image = producer.inputs[0] if producer is not None and producer.op.name in ("flatten", "reshape") else None
    if image is None or image.known_type.rank < 3:
        return ()
    _, channels, *axes = image.known_type.shape
    sizes = tuple(size for size in (*axes, channels) if isinstance(size, int))
    return sizes if prod(sizes) == elements else ()


def _producers(body: Body) -> Iterator[tuple[int, OpNode]]:
    """Yield the id of each value with the operation that produces it."""
    visited: set[int] = set()
    pending = [body]
    while pending:
        current = pending.pop()
        if id(current) in visited:
            continue
        visited.add(id(current))
        for node in current.nodes:
            if isinstance(node, CallNode):
                pending.append(node.body)
            else:
                yield from ((id(value), node) for value in node.outputs)
