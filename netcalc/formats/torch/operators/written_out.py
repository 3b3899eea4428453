"""Operators that are written out as several operations."""

from __future__ import annotations

from functools import partial
from math import inf, pi
from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators.arithmetic import combined
from netcalc.formats.torch.operators.operands import cast, dtype_of, operator_and_in_place, single
from netcalc.formats.torch.operators.sorting import sort


@operator_and_in_place("aten.hypot.default")
def hypot(build: Builder, input: Value, other: Value) -> Value:
    return build.line("sqrt", [build.line("add", [build.line("square", [x]) for x in (input, other)])])


@operator("aten.logaddexp.default")
def logaddexp(build: Builder, input: Value, other: Value) -> Value:
    distance = build.line("abs", [build.line("sub", [input, other])])
    rest = build.line("log1p", [build.line("exp", [build.line("neg", [distance])])])
    return build.line("add", [build.line("maximum", [input, other]), rest])


@operator("aten.xlogy.Tensor", "aten.special_xlogy.default")
def xlogy(build: Builder, input: Value, other: Value) -> Value:
    product = build.line("mul", [input, build.line("log", [other])])
    zeros = build.line("logical_and", [build.line("equal", [input], {"value": 0}), _is_number(build, other)])
    return build.line("masked_fill", [product, zeros], {"value": 0.0})


@operator_and_in_place("aten.copysign.Tensor")
def copysign(build: Builder, input: Value, other: Value) -> Value:
    size = build.line("abs", [input])
    negative = build.line("less", [other], {"value": 0})
    return build.line("where", [negative, build.line("neg", [size]), size])


def _times(factor: float, build: Builder, input: Value) -> Value:
    return build.line("mul", [input], {"value": factor})


operator_and_in_place("aten.deg2rad.default")(partial(_times, pi / 180))
operator_and_in_place("aten.rad2deg.default")(partial(_times, 180 / pi))


def _is(number: float, build: Builder, input: Value) -> Value:
    return build.line("equal", [input], {"value": number})


operator("aten.isposinf.default")(partial(_is, inf))
operator("aten.isneginf.default")(partial(_is, -inf))


# -- shifts of bits ------------------------------------------------------------------------------------


def _shifted(operation: str, attributes: dict[str, Any], build: Builder, input: Value, other: Value | Any) -> Value:
    """Multiply by a power of two, or divide by it and round down."""
    if not isinstance(other, Value):
        return build.line(operation, [input], {"value": 2**other, **attributes})
    return build.line(operation, [input, build.line("pow", [other], {"value": 2, "reverse": True})], attributes)


for _names, _operation, _attributes in (
    (("bitwise_left_shift", "__lshift__"), "mul", {}),
    (("bitwise_right_shift", "__rshift__"), "div", {"rounding": "floor"}),
):
    _rule = partial(_shifted, _operation, _attributes)
    operator_and_in_place(f"aten.{_names[0]}.Tensor", f"aten.{_names[0]}.Tensor_Scalar")(_rule)
    operator(f"aten.{_names[1]}.Tensor", f"aten.{_names[1]}.Scalar")(_rule)


# -- vectors -------------------------------------------------------------------------------------------


@operator("aten.linalg_vecdot.default")
def vecdot(build: Builder, x: Value, y: Value, dim: int) -> Value:
    return build.line("sum", [build.line("mul", [x, y])], {"axis": dim})


@operator("aten.linalg_cross.default")
def cross(build: Builder, input: Value, other: Value, dim: int) -> Value:
    def turned(vector: Value, places: int) -> Value:
        return build.line("roll", [vector], {"shifts": places, "axis": dim})

    first = build.line("mul", [turned(input, 2), turned(other, 1)])
    return build.line("sub", [first, build.line("mul", [turned(input, 1), turned(other, 2)])])


@operator("aten.dist.default")
def distance(build: Builder, input: Value, other: Value, p: Any) -> Value:
    return build.line("vector_norm", [build.line("sub", [input, other])], {"ord": None if p == 2 else p})


@operator("aten.trace.default")
def trace(build: Builder, input: Value) -> Value:
    return build.line("einsum", [input], {"equation": "ii->"})


# -- reductions ----------------------------------------------------------------------------------------


def _is_number(build: Builder, input: Value) -> Value:
    """Return where a tensor is not NaN."""
    return build.line("equal", [input, input])


def _numbers(build: Builder, input: Value) -> Value:
    """Return a tensor with 0 in place of NaN."""
    return build.line("masked_fill", [input, build.line("not_equal", [input, input])], {"value": 0.0})


@operator("aten.nansum.default")
def nansum(build: Builder, input: Value, dim: Any, keepdim: bool, dtype: Any) -> Value:
    numbers = _numbers(build, input) if input.type.is_float else input
    attributes = {"axis": single(dim) if dim else None, "keepdim": keepdim or None, "dtype": dtype_of(dtype)}
    return build.line("sum", [numbers], attributes)


@operator("aten.nanmean.default")
def nanmean(build: Builder, input: Value, dim: Any, keepdim: bool, dtype: Any) -> Value:
    attributes = {"axis": single(dim) if dim else None, "keepdim": keepdim or None}
    x = cast(build, input, dtype_of(dtype))
    total = build.line("sum", [_numbers(build, x)], attributes)
    return combined(build, "div", total, build.line("sum", [_is_number(build, x)], attributes))


def _ranked(build: Builder, input: Value, rank: Any, dim: int, keepdim: bool) -> tuple[Value, ...]:
    """Return the element of a rank along an axis, and its index."""
    ranked = [build.line("select", [x], {"axis": dim, "index": rank}) for x in sort(build, input, dim, False)]
    return tuple(build.line("unsqueeze", [x], {"axis": dim}) if keepdim else x for x in ranked)


@operator("aten.kthvalue.default")
def kthvalue(build: Builder, input: Value, k: Any, dim: int, keepdim: bool) -> tuple[Value, ...]:
    return _ranked(build, input, k - 1, dim, keepdim)


@operator("aten.median.dim")
def median(build: Builder, input: Value, dim: int, keepdim: bool) -> tuple[Value, ...]:
    return _ranked(build, input, (input.type.shape[dim] - 1) // 2, dim, keepdim)


@operator("aten.median.default")
def median_of_all(build: Builder, input: Value) -> Value:
    flat = build.line("reshape", [input], {"shape": [-1]})
    return median(build, flat, 0, False)[0]
