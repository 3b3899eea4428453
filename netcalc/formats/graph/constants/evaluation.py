"""The elements of all constant values of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netcalc.diagnostics import NetcalcError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.constants import numbers, views
from netcalc.formats.graph.constants.expressions import Call, Expression, index, size_of, substituted
from netcalc.formats.graph.constants.rules import RULES, Case, opaque, rule, spread
from netcalc.formats.graph.model import Graph, Line, StoredTensor, Value, operation_named

assert numbers and views  # their rules are registered by the import

#: Operations whose elements are functions of the elements of their inputs at the same place.
_ELEMENTWISE = (
    *("div", "pow", "minimum", "maximum", "clamp", "exp", "log", "sqrt", "rsqrt", "reciprocal", "square", "sin", "cos"),
    *("sign", "sigmoid", "tanh"),
)

#: Most parts of an expression: a tensor that is written piece by piece has no plain form.
_LARGEST = 100

rule(*_ELEMENTWISE)(opaque)


@rule("matmul")
def _outer(case: Case) -> Expression | None:
    """Return the products of a matrix product with a single one for each element."""
    left, right = case.inputs
    if left.rank < 2 or right.rank < 2 or left.shape[-1] != 1:
        return None
    return Call("@mul", (spread(case, 0), spread(case, 1)))


@rule("einsum")
def _outer_by_names(case: Case) -> Expression | None:
    """Return the products of an outer product of two vectors."""
    names = case.op.equation.replace(" ", "")
    if names != "i,j->ij" or [x.rank for x in case.inputs] != [1, 1]:
        return None
    places = ({0: index(axis, case.sizes)} for axis in range(2))
    return Call("@mul", tuple(map(substituted, case.operands, places)))


def constants_of(graph: Graph) -> dict[Value, Expression]:
    """Return the elements of the values that depend on no input and no parameter, as far as they are known."""
    constants: dict[Value, Expression] = {}
    for line in graph.lines:
        for value, expression in _outputs(graph, line, constants):
            constants[value] = expression
    return constants


def _outputs(graph: Graph, line: Line, constants: dict[Value, Expression]) -> Iterator[tuple[Value, Expression]]:
    if line.operation == "buffer":
        yield line.outputs[0], _buffer(line, graph.tensors[line.parameters[""].path])
        return
    operands = [value for value in line.inputs if value is not None]
    if (
        line.parameters
        or any(value.type.is_complex for value in line.outputs)
        or any(value not in constants for value in operands)
    ):
        return
    result: Any = None
    if line.operation in RULES:
        case = Case(
            line.operation,
            operation_named(line.operation)(**line.attributes),
            tuple(constants[value] for value in operands),
            tuple(value.type for value in operands),
            tuple(value.type for value in line.outputs),
        )
        try:
            result = RULES[line.operation](case)
        except NetcalcError:  # an integer of too many terms
            return
    if result is not None:
        for value, expression in zip(line.outputs, result if isinstance(result, list) else [result], strict=False):
            if size_of(expression) <= _LARGEST:
                yield value, expression


def _buffer(line: Line, tensor: StoredTensor) -> Expression:
    """Return the elements of a buffer: as they are written or computed, else elements of the stored tensor.

    A checkpoint may hold other values of a floating-point buffer.
    """
    (value,) = line.outputs
    written = line.attributes.get("value")
    fixed = not tensor.unknown and not (tensor.persistent and value.type.is_inexact)
    if isinstance(written, (bool, int, float)) and fixed and tensor.value is not None:  # otherwise only a default
        number = numbers.written(written, numbers.kind_of(value.type.dtype))
        if number is not None:
            return number
    if "computed" in line.attributes and fixed:
        computed = _computed(line.attributes["computed"])
        if computed is not None:
            return computed
    sizes = value.type.shape
    content = (repr(written),) if isinstance(written, list) else ()
    place = line.parameters[""].path if not content or line.attributes.get("persistent", True) else ""
    return Call("stored", tuple(index(axis, sizes) for axis in range(len(sizes))), (place, *content))


def _computed(lines: Sequence[Mapping[str, Any]]) -> Expression | None:
    """Return the elements that lines of a spec compute."""
    build = Builder(Graph(""))
    named: dict[str, Value] = {}
    last: list[Value] = []
    for written in lines:
        (operation,) = written.keys() - {"name", "from"}
        declared = operation_named(operation)
        setting = written[operation]
        attributes: dict[str, Any] = setting if isinstance(setting, dict) else {str(declared.shorthand): setting}
        inputs = [named[name] for name in written["from"]] if "from" in written else last if declared.inputs else []
        last = [build.line(operation, inputs, attributes if setting is not None else {})]
        named[written.get("name", "")] = last[0]
    return constants_of(build.graph).get(last[0])
