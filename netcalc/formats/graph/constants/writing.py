"""Constant values in few lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.dims import Dim
from netcalc.dtypes import DType, scalar_dtype
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.constants.expressions import Expression, Progression, is_size, number_of, progression
from netcalc.formats.graph.constants.masks import mask_of
from netcalc.formats.graph.model import Graph, Line, Scope, Value


def write_constants(graph: Graph, constants: dict[Value, Expression]) -> None:
    """Make constant values that other lines use by as few lines as possible, and equal ones of a module once.

    Args:
        graph: the graph, whose lines are changed; lines that are not used any more stay.
        known: the elements of its constant values.
    """
    users: dict[Value, list[Line]] = {}
    for line in graph.lines:
        for value in line.inputs:
            if value in constants and any(output not in constants for output in line.outputs):
                users.setdefault(value, []).append(line)
    results = {value for value in graph.results if value in constants}
    makers = {value: line for line in graph.lines for value in line.outputs}
    shared: dict[tuple[Scope, Expression, Any], Value] = {}
    replaced: dict[Value, Value] = {}
    lines: list[Line] = []
    for line in graph.lines:
        lines.append(line)
        for value in line.outputs:
            if value not in users and value not in results:
                continue
            key = (line.scope, constants[value], value.type)
            if key not in shared:
                shared[key] = value
                shorter = _constant_lines(graph, constants[value], value, line.scope)
                if shorter and len(shorter) < _count(value, makers, len(shorter)):
                    lines += shorter
                    shared[key] = shorter[-1].outputs[0]
                    constants[shared[key]] = constants[value]
            replaced[value] = shared[key]
    for line in lines:
        line.inputs = tuple(value if value is None else replaced.get(value, value) for value in line.inputs)
    graph.lines[:] = lines
    graph.replace_results(replaced)


def _count(value: Value, makers: dict[Value, Line], enough: int) -> int:
    """Return the number of lines that make a value, or one that exceeds ``enough``; a buffer counts as two."""
    counted: dict[Line, None] = {}
    waiting, count = [value], 0
    while waiting and count <= enough:
        line = makers.get(waiting.pop())
        if line is not None and line not in counted:
            counted[line] = None
            count += 2 if line.operation == "buffer" else 1
            waiting += [operand for operand in line.inputs if operand is not None]
    return count


def _constant_lines(graph: Graph, expression: Expression, value: Value, scope: Scope) -> list[Line] | None:
    """Return lines that make a constant; None if it has no short form."""
    build = Builder(Graph("", tensors=graph.tensors))
    build.scope, build.hint = scope, value.hint
    shape, dtype = value.type.shape, value.type.dtype
    if 0 in shape or not _add(build, expression, shape, dtype) or build.graph.lines[-1].outputs[0].type != value.type:
        return None
    return build.graph.lines


def _add(build: Builder, expression: Expression, shape: Sequence[Dim], dtype: DType) -> bool:
    number: Any = expression if is_size(expression) else number_of(expression)
    if number is not None:
        written = None if scalar_dtype(number) == dtype else dtype
        build.line("constant", [], {"value": number, "shape": list(shape) or None, "dtype": written})
        return True
    counted = progression(expression)
    if counted is not None:
        _progression(build, counted, shape, dtype)
        return True
    mask = mask_of(expression, shape)
    if mask is None or mask.right != 0 or mask.shift != 0 or dtype != "bool":
        return False
    queries, keys = shape[-2:]
    attributes = {"queries": queries, "keys": None if keys == queries else keys, "window": mask.left}
    _spread_axes(build, build.line("causal_mask", [], attributes), len(shape) - 2, 2, shape)
    return True


def _progression(build: Builder, counted: Progression, shape: Sequence[Dim], dtype: DType) -> None:
    axis, start, step = counted
    attributes = {
        "start": None if start == 0 else start,
        "stop": start + step * shape[axis],
        "step": None if step == 1 else step,
        "dtype": None if dtype == "int64" else dtype,
    }
    _spread_axes(build, build.line("arange", [], attributes), axis, 1, shape)


def _spread_axes(build: Builder, value: Value, front: int, count: int, shape: Sequence[Dim]) -> None:
    """Put axes of size 1 before and after the ``count`` axes of a value, and repeat it along them."""
    for _ in range(front):
        value = build.line("unsqueeze", [value], {"axis": 0})
    for axis in range(front + count, len(shape)):
        value = build.line("unsqueeze", [value], {"axis": axis})
    repeated = [-1 if front <= axis < front + count or size == 1 else size for axis, size in enumerate(shape)]
    if any(size != -1 for size in repeated):
        build.line("expand", [value], {"shape": repeated})
