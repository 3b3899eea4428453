"""Operators that change no number, or only its type: copies, aliases, assertions, conversions."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators.axes import expanded
from netcalc.formats.torch.operators.operands import cast, dtype_of


@operator(
    *("aten.alias.default", "aten.alias_copy.default", "aten.clone.default", "aten.contiguous.default"),
    *("aten.detach.default", "aten.detach_.default", "aten.detach_copy.default", "aten.lift_fresh.default"),
    *("aten.lift_fresh_copy.default", "aten.lift.default", "aten.pin_memory.default", "aten.positive.default"),
    *("aten.resolve_conj.default", "aten.resolve_neg.default", "aten.requires_grad_.default", "aten.conj.default"),
    *("aten.conj_physical.default", "aten.real.default"),
)
def same(build: Builder, input: Value, **layout: Any) -> Value:
    return input


@operator(
    *("aten._assert_tensor_metadata.default", "aten._assert_async.default", "aten._assert_async.msg"),
    *("aten._assert_scalar.default", "aten.sym_constrain_range.default", "aten._print.default"),
    "aten.sym_constrain_range_for_size.default",
)
def nothing(build: Builder, **expected: Any) -> None:
    return None


@operator(
    *("aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten._to_copy.default"),
    *("aten.to.prim_Device", "aten.to.prim_dtype"),
)
def to(build: Builder, input: Value, dtype: Any, **_: Any) -> Value:
    return cast(build, input, dtype_of(dtype))


@operator("aten.to.other", "aten.type_as.default")
def type_as(build: Builder, input: Value, other: Value, **_: Any) -> Value:
    return cast(build, input, other.type.dtype)


@operator("aten.copy.default")
def copy(build: Builder, input: Value, src: Value, non_blocking: bool) -> Value:
    return expanded(build, cast(build, src, input.type.dtype), input.type.shape)


@operator("aten.fill.Tensor")
def fill(build: Builder, input: Value, value: Value) -> Value:
    return copy(build, input, value, False)
