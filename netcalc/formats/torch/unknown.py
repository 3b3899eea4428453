"""Lines of unknown work, in place of operators that have no rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.tensor_type import TensorType


def unknown_line(
    build: Builder, operator: str, arguments: Mapping[str, Any], example: Any, type_of: Callable[[Any], TensorType]
) -> Any:
    """Add a line of unknown work, and return its outputs in the structure of the operator's results.

    Args:
        build: the builder.
        operator: name of the operator.
        arguments: its arguments, of which tensors become inputs of the line.
        found: the results of the operator in an export: a tensor, or a list of tensors and others.
        type_of: function that returns the type of a tensor.

    Raises:
        RuleError: for an operator without tensors among its arguments or its results.
    """
    results = list(example) if isinstance(example, (list, tuple)) else [example]
    types = [type_of(result) if hasattr(result, "shape") else None for result in results]
    present = [type_ for type_ in types if type_ is not None]
    inputs = list(_tensors(arguments.values()))
    if not present or not inputs:
        raise RuleError(f"{operator} has no tensors among its arguments or its results")
    attributes: dict[str, Any] = {"operator": operator, "shapes": [list(type_.shape) for type_ in present]}
    if any(type_.dtype != "float32" for type_ in present):
        attributes["dtypes"] = [type_.dtype for type_ in present]
    outputs = iter(build.lines("unknown", inputs, attributes))
    values = [None if type_ is None else next(outputs) for type_ in types]
    return values if isinstance(example, (list, tuple)) else values[0]


def _tensors(arguments: Iterable[Any]) -> Iterator[Value]:
    for argument in arguments:
        if isinstance(argument, Value):
            yield argument
        elif isinstance(argument, (list, tuple)):
            yield from _tensors(argument)
