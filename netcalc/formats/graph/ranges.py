"""Ranges of whole-number inputs: indices lie within what they select from, and masks of tokens are 0 or 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from netcalc.formats.graph.model import Graph, Line, Value, operation_named

#: The first of the inputs that are indices, of which there is one for each axis.
_FIRST_INDEX: Mapping[str, int] = {"gather": 1, "index": 1, "index_put": 2, "index_select": 1, "scatter": 1}

_COMPARISONS = ("equal", "not_equal")


def index_ranges(graph: Graph) -> dict[str, list[int]]:
    """Return the range of each whole-number input that selects elements, or that is a mask of tokens.

    Of several ranges the result is the common one.  A mask has the shape of an input that is looked up in a table, and
    is only asked for its zeros or ones.
    """
    origins = {id(value): name for name, value in graph.inputs.items() if value.type.dtype in ("int64", "int32")}
    selected: dict[str, list[int]] = {}
    tokens: set[tuple[Any, ...]] = set()
    flags: set[str] = set()
    for line in graph.lines:
        for value, (low, high) in _selections(line):
            if (name := origins.get(id(value))) is not None:
                others = selected.get(name, [low, high])
                selected[name] = [max(low, others[0]), min(high, others[1])]
        name = origins.get(id(line.inputs[0])) if line.inputs else None
        if name is None:
            continue
        if "num_embeddings" in line.attributes:
            tokens.add(graph.inputs[name].type.shape)
        elif _is_test(line):
            flags.add(name)
        elif _keeps_numbers(line):
            origins |= {id(output): name for output in line.outputs}
    masks = {name: [0, 2] for name in sorted(flags) if graph.inputs[name].type.shape in tokens}
    return {name: interval for name, interval in {**masks, **selected}.items() if interval[0] < interval[1]}


def _selections(line: Line) -> Iterator[tuple[Value, tuple[int, int]]]:
    """Yield the values that an operation takes as indices, with the range of each."""
    rows: Any = line.attributes.get("num_embeddings")
    if isinstance(rows, int):
        if line.inputs[0] is not None:
            yield line.inputs[0], (0, rows)
        return
    axis: Any = line.attributes.get("axis")
    first = _FIRST_INDEX.get(line.operation)
    if first is None or axis is None or line.inputs[0] is None:
        return
    shape = line.inputs[0].type.shape
    axes = axis if isinstance(axis, (list, tuple)) else [axis]
    for value, place in zip(line.inputs[first:], axes, strict=False):
        size = shape[place]
        if value is not None and isinstance(size, int):
            # negative ones count from the end
            yield value, (-size if line.operation == "index" else 0, size)


def _is_test(line: Line) -> bool:
    """Return True for an operation that only asks for zeros or ones."""
    if line.operation == "cast":
        return line.attributes.get("dtype") == "bool"
    return line.operation in _COMPARISONS and line.attributes.get("value") in (0, 1)


def _keeps_numbers(line: Line) -> bool:
    """Return True for an operation whose output has the numbers of its only input: a view or a conversion."""
    return len(line.inputs) == 1 and (operation_named(line.operation).view or line.operation == "cast")
