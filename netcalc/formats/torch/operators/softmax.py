"""Softmax and its logarithm."""

from __future__ import annotations

from math import inf
from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator


@operator("aten.softmax.int", "aten.special_softmax.default")
def softmax(build: Builder, input: Value, dim: int, dtype: Any) -> Value:
    return _along_axis(build, "softmax", input, dim, dtype)


@operator("aten.log_softmax.int", "aten.special_log_softmax.default")
def log_softmax(build: Builder, input: Value, dim: int, dtype: Any) -> Value:
    return _along_axis(build, "log_softmax", input, dim, dtype)


def _along_axis(build: Builder, operation: str, x: Value, dim: int, dtype: Any) -> Value:
    wanted = x.type.dtype if dtype is None else str(dtype).removeprefix("torch.")
    if wanted != x.type.dtype:
        x = build.line("cast", [x], {"dtype": wanted})
    return build.line(operation, [x], {"axis": None if dim in (-1, len(x.type.shape) - 1) else dim})


@operator("aten._softmax.default")
def softmax_core(build: Builder, input: Value, dim: int, half_to_float: bool) -> Value:
    return _along_axis(build, "softmax", input, dim, "float32" if half_to_float else None)


@operator("aten._log_softmax.default")
def log_softmax_core(build: Builder, input: Value, dim: int, half_to_float: bool) -> Value:
    return _along_axis(build, "log_softmax", input, dim, "float32" if half_to_float else None)


@operator("aten._safe_softmax.default")
def safe_softmax(build: Builder, input: Value, dim: int, dtype: Any) -> Value:
    """Softmax that gives zeros where all elements are −∞."""
    largest = build.line("max", [input], {"axis": dim, "keepdim": True})
    masked = build.line("equal", [largest], {"value": -inf})
    return build.line("masked_fill", [_along_axis(build, "softmax", input, dim, dtype), masked], {"value": 0.0})
