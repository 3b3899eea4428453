"""Spec documents of graphs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from glob import escape
from itertools import takewhile
from typing import Any

from netcalc.formats.graph.blocks import fold_blocks
from netcalc.formats.graph.branches import fold_branches
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.calls import note_calls
from netcalc.formats.graph.items import Block, Item, Required, Sequence, free_name
from netcalc.formats.graph.loops import mark_loops
from netcalc.formats.graph.model import Graph, Value
from netcalc.formats.graph.overlaps import separate_overlaps
from netcalc.formats.graph.ranges import index_ranges
from netcalc.formats.graph.repeats import fold_repeats
from netcalc.formats.graph.stored import place_tensors
from netcalc.formats.graph.tree import tree_of
from netcalc.formats.graph.turns import fold_turns
from netcalc.formats.graph.uses import use_counts
from netcalc.formats.graph.writing import Body, plain, written_body
from netcalc.ops import find


def spec_document(graph: Graph) -> dict[str, Any]:
    """Return the document of a spec for a graph, as data that :func:`netcalc.load_data` reads.

    Equal modules become one block, calls in a row a repeat, and the operands of joins branches.
    """
    _never_empty(graph)
    separate_overlaps(graph)
    root = tree_of(graph)
    mark_loops(root, tuple(graph.outputs.values()), graph.tensors)
    copies, paths = place_tensors(graph, root)
    note_calls(root)
    outputs = tuple(graph.outputs.values())
    blocks = fold_blocks(root, outputs)
    written = {block.name: _block(block, paths) for block in blocks}
    body = written_body(Body(_folded(root.items, outputs), graph.inputs, outputs, paths))
    document: dict[str, Any] = {"netcalc": 1, "name": graph.name}
    if graph.source:
        document["source"] = graph.source
    if graph.dims:
        document["dims"] = dict(graph.dims)
    if graph.notes:
        document["notes"] = [*map(_note, graph.notes)]
    ranges = index_ranges(graph)
    document["inputs"] = {name: _input(value, ranges.get(name)) for name, value in graph.inputs.items()}
    if written:
        document["blocks"] = written
    document["layers"] = body.lines
    document["outputs"] = dict(zip(graph.outputs, body.outputs, strict=True))
    if body.checkpoint or copies:
        document["checkpoint"] = {
            **body.checkpoint,
            **({"ignore": [escape(path) for path in copies]} if copies else {}),
        }
    return document


def _note(text: str) -> dict[str, str]:
    """Return a remark, in which numbers of iterations are stars, since an expression would be evaluated."""
    return {"text": re.sub(r"\$\{\w+\}", "*", text)}


def with_note(document: dict[str, Any], text: str) -> dict[str, Any]:
    """Return a document with a further remark."""
    notes = [*document.get("notes", []), _note(text)]
    before = {key: document[key] for key in takewhile(lambda key: key not in ("notes", "inputs"), document)}
    return before | {"notes": []} | document | {"notes": notes}


def _never_empty(graph: Graph) -> None:
    """Add a line for each output of a graph that has none, since a spec has at least one."""
    if not graph.lines:
        build = Builder(graph)
        graph.outputs = {name: build.line("identity", [value]) for name, value in graph.outputs.items()}


def _folded(items: list[Item], outputs: tuple[Value, ...]) -> list[Item]:
    repeated = fold_repeats(items, use_counts(items, outputs))
    branched = fold_branches(repeated, use_counts(repeated, outputs))
    return fold_turns(branched, use_counts(branched, outputs))


def _block(block: Block, paths: Collection[str]) -> dict[str, Any]:
    """Return the declaration of a block, and note the names of its outputs."""
    names = _input_names(block)
    items = _folded(block.items, block.outputs)
    inputs = dict(zip(names, block.inputs, strict=True))
    body = written_body(Body(items, inputs, block.outputs, _inner_paths(block, paths), True, block.path, block.place))
    declared: dict[str, Any] = {}
    if block.arguments:
        declared["args"] = {
            name: value.type if isinstance(value, Required) else _default(value)
            for name, value in block.arguments.items()
        }
    if names != ["in"]:
        declared["inputs"] = names
    if body.outputs:
        declared["outputs"] = body.outputs
    own = [name.rpartition(".")[2] for name in body.outputs]  # outputs are called by the last parts of their names
    block.first_output = own[0] if own else ""
    block.suffixes = ["", *(f".{name}" for name in own[1:])]
    declared["layers"] = body.lines
    if body.checkpoint:
        declared["checkpoint"] = body.checkpoint
    return declared


def _inner_paths(block: Block, paths: Collection[str]) -> set[str]:
    """Return the paths that lead into calls of a block, relative to these."""
    places, inner = {*block.places}, set()
    for path in paths:
        parts = path.split(".")
        inner |= {".".join(parts[n:]) for n in range(1, len(parts)) if ".".join(parts[:n]) in places}
    return inner


def _default(value: Any) -> Any:
    """Return the declaration of an argument with a default; a text could be taken for a type."""
    return {"default": value} if isinstance(value, str) else plain(value)


def _input_names(block: Block) -> list[str]:
    """Return names for the inputs of a block."""
    taken = {*block.arguments, *_first_parts(block.items)}
    if len(block.inputs) == 1 and "in" not in taken:
        return ["in"]
    names: list[str] = []
    for index, value in enumerate(block.inputs):
        hint = value.hint.rstrip("0123456789").rstrip("_")
        says_nothing = not hint.isidentifier() or find(hint) is not None or "_" not in hint
        names.append(free_name("xyz"[min(index, 2)] if index == 0 or says_nothing else hint, taken))
        taken.add(names[-1])
    return names


def _first_parts(items: list[Item]) -> Iterator[str]:
    """Yield the first parts of the names of items, and of those in sequences."""
    for item in items:
        yield item.name.partition(".")[0]
        if isinstance(item, Sequence):
            yield from _first_parts(item.items)


def _input(value: Value, interval: list[int] | None) -> Any:
    sizes = [size if isinstance(size, int) else str(size) for size in value.type.shape]
    if value.type.dtype == "float32":
        return sizes
    declared = {"shape": sizes, "dtype": value.type.dtype}
    return declared if interval is None else {**declared, "range": interval}
