"""Dead code: what a source computes, and what leads to none of its outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance
from netcalc.dims import UndecidedError
from netcalc.formats.graph.model import Graph, Line, Value, operation_named
from netcalc.ir import Program
from netcalc.opdef import Context, Operation
from netcalc.tensor_type import TensorType

#: Operations that are a tensor of the source, and do nothing.
_STORED = ("parameter", "buffer")


class Called(NamedTuple):
    """An operator that the source calls: the lines that stand for the call, and the values that these give."""

    lines: Sequence[Line]
    results: Sequence[Value]


def dead_results(graph: Graph, calls: Sequence[Called]) -> list[Value]:
    """Return the results of dead code, one of each line: of calls that do work, and that no such call follows.

    What depends on neither inputs, parameters nor random numbers is constant, and no work of a run, unless it is a
    product of matrices, as of layers that are not registered.

    Args:
        graph: the graph, before lines are left out.
        calls: the calls of the source, in order.
    """
    makers = {value: line for line in graph.lines for value in line.outputs}
    constants = _constants(graph.lines)
    used: set[Line] = set()
    _use(graph.outputs.values(), makers, used)
    dead: list[Value] = []
    for lines, results in reversed(calls):
        own = {makers[value]: value for value in reversed(results) if makers.get(value) in lines}
        constant = constants.issuperset(own) and not any(_line_works(line, "mac") for line in lines)
        if any(line in used for line in own) or constant or not any(map(_line_works, lines)):
            continue
        _use(own.values(), makers, used)
        dead += own.values()
    return dead[::-1]


def _use(values: Iterable[Value], makers: dict[Value, Line], used: set[Line]) -> None:
    """Add the lines that lead to some values to those that are used."""
    waiting = list(values)
    while waiting:
        line = makers.get(waiting.pop())
        if line is not None and line not in used:
            used.add(line)
            waiting += filter(None, line.inputs)


def _constants(lines: Sequence[Line]) -> set[Line]:
    """Return the lines whose results depend on neither inputs, parameters nor random numbers."""
    constants: set[Line] = set()
    known: set[Value] = set()
    for line in lines:
        is_source = line.operation == "buffer" or not (line.parameters or operation_named(line.operation).draws)
        if is_source and known.issuperset(filter(None, line.inputs)):
            constants.add(line)
            known.update(line.outputs)
    return constants


def _line_works(line: Line, kind: str | None = None) -> bool:
    if line.operation in _STORED:
        return False
    inputs = [None if value is None else value.type for value in line.inputs]
    outputs = [value.type for value in line.outputs]
    return _works(operation_named(line.operation)(**line.attributes), inputs, outputs, kind)


def _works(operation: Operation, inputs: Sequence[Any], outputs: Sequence[TensorType], kind: str | None = None) -> bool:
    """Return True for an operation that does work, or may do some: of a kind, or of any for None."""
    try:
        terms = operation.cost(Context(), inputs, tuple(outputs))
    except UndecidedError:
        return True
    return operation.declared() is not None or any(t.count != 0 for t in terms if kind in (None, t.kind))


def dead_paths(program: Program) -> Iterator[str]:
    """Yield the paths of the operations of a program that do work, and that lead to none of its outputs."""
    calls: list[tuple[Instance, list[int]]] = []

    def evaluate(instance: Instance, inputs: Sequence[int | None]) -> list[int]:
        """Return the number of the operation in place of each of its outputs; inputs of the program have none."""
        number = len(calls)
        calls.append((instance, [maker for maker in inputs if maker is not None and maker >= 0]))
        return [number] * len(instance.node.outputs)

    used = set(unroll(program, [-1] * len(program.inputs), evaluate))
    for number, (_, makers) in reversed([*enumerate(calls)]):
        if number in used:
            used.update(makers)
    for number, (instance, _) in enumerate(calls):
        node = instance.node
        if number not in used and _works(node.op, node.input_types, node.output_types):
            yield instance.path
