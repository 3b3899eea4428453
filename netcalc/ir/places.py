"""Values by path: finding one in nested calls, and making it an output of the calls around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import NamedTuple, TypeAlias

from netcalc.ir.program import Body, CallNode, Node, OpNode, Value, join

#: Bodies with further outputs, by the body and the value that was added, so that equal calls share one copy.
Copies: TypeAlias = dict[tuple[Body, "Place"], Body]
#: Number of paths that are compared with a misspelt one.
_CANDIDATES = 2_000


class Place(NamedTuple):
    """Place of a value: the calls around it, outermost first, each with the number of the iteration."""

    calls: tuple[tuple[CallNode, int], ...]
    value: Value


def find_value(nodes: Sequence[Node], path: str) -> Place | None:
    """Return the place of the value at a path relative to these nodes, or None if there is none.

    A path names an operation or a call, and a port if it is not the first. The path of a named sequence or of all
    iterations of a repeat leads to its last value, as does one that several iterations share.
    """
    for node in reversed(nodes):
        place = _at_operation(node, path) if isinstance(node, OpNode) else _at_call(node, path)
        if place is not None:
            return place
    for node in reversed(nodes):
        last = node.name if isinstance(node, OpNode) else node.instance(node.times - 1)
        if last.startswith(path + "."):
            return Place((), node.outputs[0])
    return None


def _at_operation(node: OpNode, path: str) -> Place | None:
    if path == node.name:
        return Place((), node.outputs[0])
    stem = node.name + "." if node.name else ""
    if not path.startswith(stem):
        return None
    return _port(node.outputs, [port.name for port in node.op.outputs], path[len(stem) :])


def _at_call(node: CallNode, path: str) -> Place | None:
    located = node.locate(path)
    if located is None or path.endswith("."):
        return None
    index, rest = located
    if rest:
        place = find_value(node.body.nodes, rest) or _port(node.body.outputs, node.body.ports, rest)
    else:
        place = Place((), node.body.outputs[0])
    return None if place is None else Place(((node, index), *place.calls), place.value)


def _port(outputs: Sequence[Value], names: Sequence[str], port: str) -> Place | None:
    if len(outputs) > len(names) == 1:  # variadic
        names = ()
    for number, value in enumerate(outputs):
        if port in (str(number), *names[number : number + 1]):
            return Place((), value)
    return None


def sibling_paths(nodes: Sequence[Node], path: str) -> list[str]:
    """Return the paths that exist at the deepest level of ``path`` that exists, for suggestions."""
    parts = path.split(".")
    for depth in range(len(parts) - 1, -1, -1):
        base = ".".join(parts[:depth])
        names = list(islice(dict.fromkeys(_names_below(nodes, base)), _CANDIDATES))
        if names:
            return [join(base, name) for name in names]
    return []


def _names_below(nodes: Sequence[Node], base: str) -> Iterator[str]:
    """Yield the first part of each path below ``base``."""
    stem = base + "." if base else ""
    for node in nodes:
        if isinstance(node, OpNode):
            paths: Iterable[str] = (node.name,)
        else:
            located = node.locate(base) if base else None
            if located is not None:
                yield from _names_below(node.body.nodes, located[1])
                continue
            paths = map(node.instance, range(min(node.times, _CANDIDATES)))
        yield from (path[len(stem) :].split(".")[0] for path in paths if path.startswith(stem) and path != base)


def expose(nodes: list[Node], place: Place, copies: Copies) -> Value:
    """Return the value at ``place`` as a value of these nodes.

    The calls around it get it as a further output, in bodies of their own, and the iteration stands alone; ``nodes`` is
    changed accordingly. Figures, paths and the other values stay as they are.
    """
    if not place.calls:
        return place.value
    (call, index), *inner = place.calls
    body, number = _with_output(call.body, Place(tuple(inner), place.value), copies)
    if body is call.body and index == call.times - 1:
        return call.outputs[number]
    bounds = sorted({0, index, index + 1, call.times})
    parts = list(split_call(call, [(call.body, end - first) for first, end in pairwise(bounds)]))
    position = 0 if index == 0 else 1
    alone = parts[position]
    if body is not call.body:
        value = body.outputs[number]
        added = Value(value.type, join(call.instance(index), value.name), value.span)
        parts[position] = alone = replace(alone, body=body, outputs=(*alone.outputs, added))
    at = next(i for i, node in enumerate(nodes) if node is call)
    nodes[at : at + 1] = parts
    return alone.outputs[number]


def _with_output(body: Body, place: Place, copies: Copies) -> tuple[Body, int]:
    """Return a body with the value at ``place`` among its outputs, and the number of that output."""
    if (body, place) not in copies:
        nodes = list(body.nodes)
        value = expose(nodes, place, copies)
        if value in body.outputs:
            return body, body.outputs.index(value)
        copies[body, place] = replace(
            body, nodes=tuple(nodes), outputs=(*body.outputs, value), exposed=body.exposed + 1
        )
    return copies[body, place], len(body.outputs)


def split_call(call: CallNode, runs: Iterable[tuple[Body, int]]) -> Iterator[CallNode]:
    """Yield calls that together are ``call``, one for each run of iterations with one body."""
    first, inputs = 0, call.inputs
    for body, times in runs:
        outputs = call.outputs
        if first + times < call.times:
            outputs = tuple(Value(value.type, value.name, value.span) for value in call.outputs)
        start = None if call.start is None else call.start + first
        yield replace(call, body=body, inputs=inputs, outputs=outputs, times=times, start=start)
        first, inputs = first + times, (*outputs, *call.inputs[len(outputs) :])
