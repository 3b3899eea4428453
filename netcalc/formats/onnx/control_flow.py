"""Control flow whose course the file fixes: a branch that a constant chooses, loops of a known number of iterations.

The iterations of a loop are written one after the other; :mod:`netcalc.formats.graph.loops` folds equal ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import NamedTuple, TypeAlias

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.onnx.call import Operand, front
from netcalc.formats.onnx.elements import dtype_named
from netcalc.formats.onnx.known import MOST, Known, picked
from netcalc.formats.onnx.messages import GraphProto, Node, ValueInfo

#: Most iterations of a loop.
MOST_ITERATIONS = 4_096

#: Values by their places; None in place of the list if a node among them cannot be translated.
Results: TypeAlias = "list[Operand | None] | None"
#: A function that translates the nodes of a graph, with values for its inputs, and returns its outputs.
Run: TypeAlias = Callable[[GraphProto, Sequence["Operand | None"]], Results]


class DependsOnDataError(RuleError):
    """Control flow that depends on data."""


class Flow(NamedTuple):
    """A node whose attributes are graphs, with its operands, and the function that translates such a graph."""

    node: Node
    operands: Sequence[Operand | None]
    version: int
    build: Builder
    run: Run

    def graph(self, name: str) -> GraphProto:
        """Return an attribute; RuleError if it is no graph."""
        graph = self.node.attributes.get(name)
        if not isinstance(graph, GraphProto):
            raise RuleError(f"it has no graph {name!r}")
        return graph

    def operand(self, place: int) -> Operand | None:
        """Return an input; None if it is left out."""
        return self.operands[place] if place < len(self.operands) else None


def results_of(flow: Flow) -> Results:
    """Return the results of a node of control flow.

    Raises:
        DependsOnDataError: the course depends on data.
        RuleError: the graph does not fit the node.
    """
    rule = {"If": _choice, "Loop": _loop, "Scan": _scan}.get(flow.node.op) if flow.node.domain == "" else None
    if rule is None:
        raise DependsOnDataError("no rule")
    return rule(flow)


def _choice(flow: Flow) -> Results:
    """Return the results of the branch that a constant condition chooses."""
    chosen = _truth(flow.operand(0))
    if chosen is None:
        raise DependsOnDataError("control flow by a condition that depends on data")
    return flow.run(flow.graph("then_branch" if chosen else "else_branch"), [])


def _truth(operand: Operand | None) -> bool | None:
    """Return the only element of a condition; None if it is not known."""
    if operand is None or operand.known is None or len(operand.known.elements) != 1 or not operand.known.is_plain:
        return None
    return bool(operand.known.elements[0])


def _loop(flow: Flow) -> Results:
    """Return the last values that a loop carries, and what its iterations give, stacked."""
    body = flow.graph("body")
    carried: list[Operand | None] = list(flow.operands[2:])
    if len(body.inputs) != 2 + len(carried) or len(body.outputs) < 1 + len(carried):
        raise RuleError(f"its body has {len(body.inputs)} inputs and {len(body.outputs)} outputs")
    trips = _trips(flow)
    going = True if flow.operand(1) is None else _truth(flow.operand(1))
    if going is None:
        raise DependsOnDataError("control flow by a condition that depends on data")
    every: list[list[Operand]] = [[] for _ in body.outputs[1 + len(carried) :]]
    number = 0
    while going and (trips is None or number < trips):
        if number == MOST_ITERATIONS:
            raise RuleError(f"more than {MOST_ITERATIONS:,} iterations")
        counter = Operand(known=Known("int64", (), (number,)))
        results = flow.run(body, [counter, Operand(known=Known("bool", (), (True,))), *carried])
        if results is None:
            return None
        carried = results[1 : 1 + len(carried)]
        for items, result in zip(every, results[1 + len(carried) :], strict=True):
            items.append(_needed(result))
        going = _truth(results[0])
        if going is None:
            raise DependsOnDataError("control flow by a condition that depends on data")
        number += 1
    infos = body.outputs[1 + len(carried) :]
    return [*carried, *(_stacked(flow, items, 0, info) for items, info in zip(every, infos, strict=True))]


def _trips(flow: Flow) -> int | None:
    """Return the greatest number of iterations; None if the condition alone ends the loop."""
    limit = flow.operand(0)
    if limit is None:
        return None
    if limit.known is None or len(limit.known.elements) != 1:
        raise DependsOnDataError("control flow by a number of iterations that depends on data")
    if not limit.known.is_plain:
        raise DependsOnDataError("control flow by a number of iterations that is symbolic")
    return int(limit.known.elements[0])


def _scan(flow: Flow) -> Results:
    """Return the last states of a scan, and what its iterations give, stacked."""
    if flow.version < 9:
        raise RuleError("a scan of operator set 8, whose first axis is the batch")
    body = flow.graph("body")
    attributes = flow.node.attributes
    scanned = attributes.get("num_scan_inputs", 0)
    count = len(flow.operands) - scanned
    if not 0 < scanned <= len(flow.operands) or len(body.outputs) < count or len(body.inputs) != len(flow.operands):
        raise RuleError(f"it scans {scanned} of {len(flow.operands)} inputs")
    states: list[Operand | None] = list(flow.operands[:count])
    inputs = [_needed(operand) for operand in flow.operands[count:]]
    outputs = len(body.outputs) - count
    axes = [
        front(axis, operand.type.rank)
        for axis, operand in zip(_numbers(flow, "scan_input_axes", scanned), inputs, strict=True)
    ]
    length = _length(inputs, axes)
    backward = _numbers(flow, "scan_input_directions", scanned)
    every: list[list[Operand]] = [[] for _ in range(outputs)]
    for step in range(length):
        slices = [
            _slice(flow.build, operand, axis, length - 1 - step if turned else step)
            for operand, axis, turned in zip(inputs, axes, backward, strict=True)
        ]
        results = flow.run(body, [*states, *slices])
        if results is None:
            return None
        states = results[:count]
        for items, result in zip(every, results[count:], strict=True):
            items.append(_needed(result))
    turned_outputs = _numbers(flow, "scan_output_directions", outputs)
    stacked = [
        _stacked(flow, items[::-1] if turned else items, axis, info)
        for items, turned, axis, info in zip(
            every, turned_outputs, _numbers(flow, "scan_output_axes", outputs), body.outputs[count:], strict=True
        )
    ]
    return [*states, *stacked]


def _length(inputs: Sequence[Operand], axes: Sequence[int]) -> int:
    """Return the number of iterations of a scan."""
    lengths = {operand.type.shape[axis] for operand, axis in zip(inputs, axes, strict=True)}
    if len(lengths) != 1:
        raise RuleError(f"it scans axes of {' and '.join(map(str, sorted(map(str, lengths))))} elements")
    length = lengths.pop()
    if not isinstance(length, int):
        raise DependsOnDataError("control flow by a number of iterations that is symbolic")
    if length > MOST_ITERATIONS:
        raise RuleError(f"more than {MOST_ITERATIONS:,} iterations")
    return length


def _numbers(flow: Flow, name: str, count: int) -> list[int]:
    """Return an attribute with a number for each of some inputs or outputs."""
    values = flow.node.attributes.get(name) or [0] * count
    if len(values) != count:
        raise RuleError(f"{name} has {len(values)} numbers in place of {count}")
    return list(values)


def _needed(operand: Operand | None) -> Operand:
    if operand is None:
        raise RuleError("a value that it takes or gives is missing")
    return operand


def _slice(build: Builder, operand: Operand, axis: int, place: int) -> Operand:
    """Return a tensor at an index of an axis."""
    known = operand.known
    if known is None:
        return Operand(build.line("select", [operand.materialized(build)], {"axis": axis, "index": place}))
    shape = (*known.shape[:axis], *known.shape[axis + 1 :])
    return Operand(known=picked(known, shape, lambda index: (*index[:axis], place, *index[axis:])))


def _stacked(flow: Flow, items: Sequence[Operand], axis: int, info: ValueInfo) -> Operand:
    """Return the tensors of all iterations as one, along a new axis."""
    if not items:
        if info.shape is None or info.kind is None or not all(isinstance(size, int) for size in info.shape):
            raise RuleError(f"its output {info.name[:80]!r} of no iterations has no shape")
        return Operand(known=Known(dtype_named(info.kind), (0, *info.shape), ()))  # type: ignore[arg-type]
    shapes = {item.type.shape for item in items}
    if len(shapes) > 1:
        raise RuleError(f"its iterations give {info.name[:80]!r} in several shapes")
    (shape,) = shapes
    known = list(_elements(items))
    if axis == 0 and len(known) == len(items) and prod(known[0].shape) * len(items) <= MOST:
        elements = [element for one in known for element in one.elements]
        return Operand(known=Known(known[0].dtype, (len(items), *known[0].shape), tuple(elements)))
    values = [item.materialized(flow.build) for item in items]
    return Operand(flow.build.line("stack", values, {"axis": front(axis, len(shape) + 1)}))


def _elements(items: Sequence[Operand]) -> Iterator[Known]:
    return (item.known for item in items if item.known is not None)
