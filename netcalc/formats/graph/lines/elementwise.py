"""Operations on each element of two tensors, or of one and a number."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.operands import complex_constant, number_in
from netcalc.formats.graph.model import Value

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
