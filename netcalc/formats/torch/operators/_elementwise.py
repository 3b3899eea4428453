"""Rules of functions of each element, of one tensor, or of two, one of which may be a number."""

from __future__ import annotations

from functools import partial
from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value, operation_named
from netcalc.formats.torch.operators import Rule, operator
from netcalc.formats.torch.operators._operands import complex_constant, number_in, operator_and_in_place, unless_default

#: Operations whose operands may be swapped.
_COMMUTATIVE = (
    *("add", "mul", "minimum", "maximum", "equal", "not_equal"),
    *("bitwise_and", "bitwise_or", "bitwise_xor"),
)
#: Comparisons with their operands swapped.
_MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


def combined(
    build: Builder, operation: str, input: Value | Any, other: Value | Any, attributes: dict[str, Any] | None = None
) -> Value:
    """Add an operation on two tensors, or on a tensor and a number, in either order; of two numbers one is a tensor."""
    settings = attributes or {}
    if not isinstance(input, Value) and not isinstance(other, Value):
        whole = isinstance(input, int) and not isinstance(input, bool)
        input = build.line("constant", [], {"value": input, "shape": [], "dtype": "int64" if whole else None})
    if isinstance(input, complex):
        input = complex_constant(build, input, other)
    elif isinstance(other, complex):
        other = complex_constant(build, other, input)
    first, second = (
        number_in(build, operand, [against] if isinstance(against, Value) else [])
        for operand, against in ((input, other), (other, input))
    )
    if first is None and second is None:
        return build.line(operation, [input, other], settings)
    if second is not None and isinstance(input, Value):
        return build.line(operation, [input], {"value": second, **settings})
    reverse = None if operation in _COMMUTATIVE or operation in _MIRRORED else True
    operation = _MIRRORED.get(operation, operation)
    return build.line(operation, [other], {"value": first, "reverse": reverse, **settings})


def function(operation: str, build: Builder, input: Value, **settings: Any) -> Value:
    """Add an operation on one tensor whose attributes have the names of the operator's arguments."""
    fields = operation_named(operation).model_fields
    attributes = {name: unless_default(value, fields[name].default) for name, value in settings.items()}
    return build.line(operation, [input], attributes)


def register_functions(*operations: str, rule: Rule = function, **others: str) -> None:
    """Register a rule for operations of the same names as their operators, some with another name in PyTorch too."""
    for operation, name in [*((operation, operation) for operation in (*operations, *others)), *others.items()]:
        register = operator if name.startswith("special_") else operator_and_in_place
        register(f"aten.{name}.default")(partial(rule, operation))
