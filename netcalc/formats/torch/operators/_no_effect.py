"""Operators that change no number, and give no tensor or the tensor that they take: copies, aliases, assertions."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator


@operator(
    *("aten.alias.default", "aten.alias_copy.default", "aten.clone.default", "aten.contiguous.default"),
    *("aten.detach.default", "aten.detach_.default", "aten.detach_copy.default", "aten.lift_fresh.default"),
    *("aten.lift_fresh_copy.default", "aten.lift.default", "aten.pin_memory.default", "aten.positive.default"),
    *("aten.resolve_conj.default", "aten.resolve_neg.default", "aten.requires_grad_.default"),
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
