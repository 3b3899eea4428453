"""Lines of unknown or declared work, in place of operators that have no rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.tensor_type import TensorType


class Changed(NamedTuple):
    """The results of an operator, and the new values of arguments that it changes in place and does not return."""

    results: Any
    values: Sequence[Any]


def unknown_line(
    build: Builder,
    operator: str,
    arguments: Mapping[str, Any],
    example: Any,
    type_of: Callable[[Any], TensorType],
    changed: Sequence[Any] = (),
    figures: Mapping[str, Any] | None = None,
) -> Any:
    """Add a line of unknown or declared work, and return its outputs in the structure of the operator's results.

    Args:
        build: the builder.
        operator: name of the operator.
        arguments: its arguments, of which tensors become inputs of the line.
        example: the results of the operator in an export: a tensor, or a list of tensors and others.
        type_of: function that returns the type of a tensor.
        changed: values that the operator changes in place and does not return; with any, the result is ``Changed``.
        figures: attributes that declare the work.

    Raises:
        RuleError: for an operator without tensors among its arguments or its results.
    """
    if not all(isinstance(value, Value) for value in changed):
        raise RuleError(f"{operator} changes a tensor of complex numbers")
    results = list(example) if isinstance(example, (list, tuple)) else [example]
    types = [type_of(result) if hasattr(result, "shape") else None for result in results]
    present = [type_ for type_ in types if type_ is not None] + [value.type for value in changed]
    inputs = list(_tensors(arguments.values()))
    if not present or not inputs:
        raise RuleError(f"{operator} has no tensors among its arguments or its results")
    attributes: dict[str, Any] = {"operator": operator, "shapes": [list(type_.shape) for type_ in present]}
    if any(type_.dtype != "float32" for type_ in present):
        attributes["dtypes"] = [type_.dtype for type_ in present]
    outputs = iter(build.lines("unknown", inputs, {**attributes, **(figures or {})}))
    values = [None if type_ is None else next(outputs) for type_ in types]
    made = values if isinstance(example, (list, tuple)) else values[0]
    return Changed(made, tuple(outputs)) if changed else made


def _tensors(arguments: Iterable[Any]) -> Iterator[Value]:
    for argument in arguments:
        if isinstance(argument, Value):
            yield argument
        elif isinstance(argument, (list, tuple)):
            yield from _tensors(argument)
