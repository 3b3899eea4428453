"""Functions of each element of one tensor, except activations."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

from netcalc.dtypes import largest
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators.arithmetic import combined
from netcalc.formats.torch.operators.operands import cast, operator_and_in_place

#: Operators that are operations of netcalc of the same name, each with its other names in PyTorch.
_FUNCTIONS = {
    "exp": (),
    "expm1": ("special_expm1",),
    "exp2": ("special_exp2",),
    "log": (),
    "log1p": ("special_log1p",),
    "log2": (),
    "log10": (),
    "sqrt": (),
    "rsqrt": (),
    "reciprocal": (),
    "square": (),
    "abs": ("absolute",),
    "neg": ("negative",),
    "sign": ("sgn",),
    "sin": (),
    "cos": (),
    "tan": (),
    "asin": ("arcsin",),
    "acos": ("arccos",),
    "atan": ("arctan",),
    "sinh": (),
    "cosh": (),
    "asinh": ("arcsinh",),
    "acosh": ("arccosh",),
    "atanh": ("arctanh",),
    "erf": ("special_erf",),
    "erfc": ("special_erfc",),
}
#: Operators that give whole numbers, which leave integers as they are.
_ROUNDING = {"floor": (), "ceil": (), "round": (), "trunc": ("fix",)}


def _function(operation: str, build: Builder, input: Value) -> Value:
    return build.line(operation, [input])


def _rounded(operation: str, build: Builder, input: Value) -> Value:
    return build.line(operation, [input]) if input.type.is_float else input


def _register(names: dict[str, Any], rule: Any) -> None:
    for operation, others in names.items():
        for name in (operation, *others):
            register = operator if name.startswith("special_") else operator_and_in_place
            register(f"aten.{name}.default")(partial(rule, operation))


_register(_FUNCTIONS, _function)
_register(_ROUNDING, _rounded)


@operator_and_in_place("aten.round.decimals")
def round_decimals(build: Builder, input: Value, decimals: int) -> Value:
    if not decimals or not input.type.is_float:
        return _rounded("round", build, input)
    places = build.line("mul", [input], {"value": 10.0**decimals})
    return build.line("div", [build.line("round", [places])], {"value": 10.0**decimals})


@operator_and_in_place("aten.frac.default")
def fraction(build: Builder, input: Value) -> Value:
    return build.line("sub", [input, build.line("trunc", [input])])


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
