"""Comparisons, logic, and choices by masks."""

from __future__ import annotations

from functools import reduce
from typing import cast

from netcalc.dtypes import DType, result_type
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules.arithmetic import operands

_COMPARISONS = {
    "equal": "Equal",
    "not_equal": "Equal",
    "less": "Less",
    "less_equal": "LessOrEqual",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
}
_LOGIC = {"logical_and": "And", "logical_or": "Or"}


@rule(*_COMPARISONS)
def comparison(graph: Emitter, call: Applied) -> Tensor:
    """Return a comparison of numbers in one element type; of truth values as numbers."""
    types = [(cast("DType", value.dtype), value.rank) for value in call.given]
    number = call.op.value
    dtype: str = result_type(types, *([] if number is None else [number]))
    if dtype == "bool":
        dtype = "int32"
    made = graph.compare(_COMPARISONS[call.op.name], *operands(graph, call, dtype))
    return _not(graph, made) if call.op.name == "not_equal" else made


@rule(*_LOGIC)
def logic(graph: Emitter, call: Applied) -> Tensor:
    """Return the truth values joined."""
    operator = _LOGIC[call.op.name]
    return reduce(lambda x, y: graph.binary(operator, x, y), [graph.cast(value, "bool") for value in call.given])


@rule("logical_not")
def logical_not(graph: Emitter, call: Applied) -> Tensor:
    """Return the truth values negated."""
    return _not(graph, graph.cast(call.x, "bool"))


def _not(graph: Emitter, x: Tensor) -> Tensor:
    return graph.unary("Not", x)


@rule("where")
def where(graph: Emitter, call: Applied) -> Tensor:
    """Return a Where in the element type of the result."""
    first, second = (graph.cast(call.required(index), call.output.dtype) for index in (1, 2))
    return graph.where(call.x, first, second)


@rule("masked_fill")
def masked_fill(graph: Emitter, call: Applied) -> Tensor:
    """Return a Where with a number."""
    return graph.where(call.required(1), graph.scalar(call.op.value, call.x), call.x)
