"""Functions of each element of one tensor, limits, and conversions of the element type."""

from __future__ import annotations

from math import inf
from typing import Any

from netcalc.dtypes import largest
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.elementwise import combined
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._elementwise import register_functions
from netcalc.formats.torch.operators._operands import dtype_of, operator_and_in_place

register_functions(
    *("exp", "log", "sqrt", "rsqrt", "reciprocal", "square", "sin", "cos"), abs="absolute", neg="negative", sign="sgn"
)


@operator_and_in_place("aten.clamp.default", "aten.clip.default")
def clamp(build: Builder, input: Value, min: Any, max: Any) -> Value:
    bounds = {name: int(x) if isinstance(x, bool) else x for name, x in (("min", min), ("max", max))}
    return build.line("clamp", [input], bounds)


@operator_and_in_place("aten.clamp.Tensor", "aten.clip.Tensor")
def clamp_by_tensors(build: Builder, input: Value, min: Value | None, max: Value | None) -> Value:
    if min is not None:
        input = combined(build, "maximum", input, min)
    return input if max is None else combined(build, "minimum", input, max)


@operator_and_in_place("aten.clamp_min.default", "aten.clamp_min.Tensor")
def clamp_min(build: Builder, input: Value, min: Value | Any) -> Value:
    return combined(build, "maximum", input, min) if isinstance(min, Value) else clamp(build, input, min, None)


@operator_and_in_place("aten.clamp_max.default", "aten.clamp_max.Tensor")
def clamp_max(build: Builder, input: Value, max: Value | Any) -> Value:
    return combined(build, "minimum", input, max) if isinstance(max, Value) else clamp(build, input, None, max)


@operator_and_in_place("aten.nan_to_num.default")
def nan_to_num(build: Builder, input: Value, nan: float | None, posinf: float | None, neginf: float | None) -> Value:
    if not input.type.is_float:
        return input
    result = build.line("masked_fill", [input, build.line("not_equal", [input, input])], {"value": nan or 0.0})
    limit = largest(input.type.dtype)
    for infinite, number in ((inf, limit if posinf is None else posinf), (-inf, -limit if neginf is None else neginf)):
        if number != infinite:
            mask = build.line("equal", [input], {"value": infinite})
            result = build.line("masked_fill", [result, mask], {"value": number})
    return result


@operator(
    *("aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten._to_copy.default"),
    *("aten.to.prim_Device", "aten.to.prim_dtype"),
)
def to(build: Builder, input: Value, dtype: Any, **_: Any) -> Value:
    return cast(build, input, dtype_of(dtype))


@operator("aten.to.other", "aten.type_as.default")
def type_as(build: Builder, input: Value, other: Value, **_: Any) -> Value:
    return cast(build, input, other.type.dtype)


@operator_and_in_place("aten.hypot.default")
def hypot(build: Builder, input: Value, other: Value) -> Value:
    return build.line("sqrt", [build.line("add", [build.line("square", [x]) for x in (input, other)])])


@operator("aten.xlogy.Tensor", "aten.special_xlogy.default")
def xlogy(build: Builder, input: Value, other: Value) -> Value:
    product = build.line("mul", [input, build.line("log", [other])])
    zeros = build.line("logical_and", [build.line("equal", [input], {"value": 0}), build.line("equal", [other, other])])
    return build.line("masked_fill", [product, zeros], {"value": 0.0})


@operator_and_in_place("aten.copysign.Tensor")
def copysign(build: Builder, input: Value, other: Value) -> Value:
    size = build.line("abs", [input])
    negative = build.line("less", [other], {"value": 0})
    return build.line("where", [negative, build.line("neg", [size]), size])
