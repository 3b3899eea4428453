"""Comparisons, logic of bools, and selection by masks."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dtypes import DType
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.elementwise import combined
from netcalc.formats.graph.lines.operands import cast, common_type
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._elementwise import register_functions
from netcalc.formats.torch.operators._operands import operator_and_in_place
from netcalc.formats.torch.operators.creation import filled

#: Comparisons by their operators.
_COMPARISONS = {
    "equal": ("eq",),
    "not_equal": ("ne", "not_equal"),
    "less": ("lt", "less"),
    "less_equal": ("le", "less_equal"),
    "greater": ("gt", "greater"),
    "greater_equal": ("ge", "greater_equal"),
}


register_functions("logical_not")
for _operation, _names in _COMPARISONS.items():
    for _name in _names:
        operator_and_in_place(f"aten.{_name}.Tensor", f"aten.{_name}.Scalar")(partial(combined, operation=_operation))


@operator_and_in_place("aten.logical_and.default")
def logical_and(build: Builder, input: Value, other: Value) -> Value:
    return build.line("logical_and", [input, other])


@operator_and_in_place("aten.logical_or.default")
def logical_or(build: Builder, input: Value, other: Value) -> Value:
    return build.line("logical_or", [input, other])


@operator_and_in_place("aten.logical_xor.default")
def logical_xor(build: Builder, input: Value, other: Value) -> Value:
    return build.line("not_equal", [cast(build, operand, "bool") for operand in (input, other)])


@operator("aten.isclose.default")
def isclose(build: Builder, input: Value, other: Value, rtol: float, atol: float, equal_nan: bool) -> Value:
    if equal_nan:
        raise RuleError("isclose with equal_nan cannot be expressed")
    distance = build.line("abs", [build.line("sub", [input, other])])
    size = build.line("mul", [build.line("abs", [other])], {"value": rtol})
    near = build.line("less_equal", [distance, build.line("add", [size], {"value": atol})])
    return build.line("logical_or", [near, build.line("equal", [input, other])])


@operator("aten.isin.Tensor_Tensor")
def isin(build: Builder, elements: Value, test_elements: Value, assume_unique: bool, invert: bool) -> Value:
    tested = build.line("reshape", [test_elements], {"shape": [-1]})
    same = combined(build, "equal", build.line("unsqueeze", [elements], {"axis": -1}), tested)
    return _inverted(build, build.line("greater", [build.line("sum", [same], {"axis": -1})], {"value": 0}), invert)


@operator("aten.isin.Tensor_Scalar")
def isin_of_scalar(build: Builder, elements: Value, test_element: Any, assume_unique: bool, invert: bool) -> Value:
    return _inverted(build, combined(build, "equal", elements, test_element), invert)


@operator("aten.isin.Scalar_Tensor")
def scalar_isin(build: Builder, element: Any, test_elements: Value, assume_unique: bool, invert: bool) -> Value:
    same = build.line("sum", [combined(build, "equal", test_elements, element)])
    return _inverted(build, build.line("greater", [same], {"value": 0}), invert)


def _inverted(build: Builder, found: Value, invert: bool) -> Value:
    return build.line("logical_not", [found]) if invert else found


@operator("aten.isnan.default")
def isnan(build: Builder, input: Value) -> Value:
    return build.line("not_equal", [input, input])


@operator("aten.isinf.default")
def isinf(build: Builder, input: Value) -> Value:
    return build.line("equal", [_magnitude(build, input)], {"value": inf})


@operator("aten.isfinite.default")
def isfinite(build: Builder, input: Value) -> Value:
    return build.line("less", [_magnitude(build, input)], {"value": inf})


def _magnitude(build: Builder, input: Value) -> Value:
    return build.line("abs", [cast(build, input, "uint8" if input.type.dtype == "bool" else None)])


def _is_number(number: float, build: Builder, input: Value) -> Value:
    return build.line("equal", [input], {"value": number})


operator("aten.isposinf.default")(partial(_is_number, inf))
operator("aten.isneginf.default")(partial(_is_number, -inf))


@operator("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar")
def where(build: Builder, condition: Value, input: Value | Any, other: Value | Any) -> Value:
    operands = [input, other]
    dtype = common_type(operands)
    mask = cast(build, condition, "bool")
    if isinstance(other, Value) and not isinstance(input, Value) and dtype == other.type.dtype:
        return build.line("masked_fill", [other, mask], {"value": input})
    chosen = [value if isinstance(value, Value) else filled(build, (), value, dtype) for value in operands]
    return build.line("where", [mask, *chosen])


@operator("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(build: Builder, input: Value, mask: Value, value: Value | Any) -> Value:
    if not isinstance(value, Value):
        return build.line("masked_fill", [input, cast(build, mask, "bool")], {"value": value})
    return chosen(build, mask, value, input, input.type.dtype)


def chosen(build: Builder, mask: Value, input: Value, other: Value, dtype: DType) -> Value:
    """Return ``input`` where the mask is true, ``other`` elsewhere, in an element type."""
    operands = [cast(build, value, dtype) for value in (input, other)]
    return build.line("where", [cast(build, mask, "bool"), *operands])


@operator_and_in_place("aten.heaviside.default")
def heaviside(build: Builder, input: Value, values: Value) -> Value:
    """0 for negative elements, 1 for positive ones, and ``values`` for zeros."""
    positive = build.line("greater", [input], {"value": 0.0})
    return chosen(build, build.line("equal", [input], {"value": 0.0}), values, positive, input.type.dtype)
