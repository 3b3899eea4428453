"""Softmax and its logarithm."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines import softmax as lines
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._operands import dtype_of


@operator("aten.softmax.int", "aten.special_softmax.default")
def softmax(build: Builder, input: Value, dim: int, dtype: Any) -> Value:
    return lines.along_axis(build, "softmax", input, dim, dtype_of(dtype))


@operator("aten.log_softmax.int", "aten.special_log_softmax.default")
def log_softmax(build: Builder, input: Value, dim: int, dtype: Any) -> Value:
    return lines.along_axis(build, "log_softmax", input, dim, dtype_of(dtype))


@operator("aten._softmax.default")
def softmax_core(build: Builder, input: Value, dim: int, half_to_float: bool) -> Value:
    return lines.along_axis(build, "softmax", input, dim, "float32" if half_to_float else None)


@operator("aten._log_softmax.default")
def log_softmax_core(build: Builder, input: Value, dim: int, half_to_float: bool) -> Value:
    return lines.along_axis(build, "log_softmax", input, dim, "float32" if half_to_float else None)


@operator("aten._safe_softmax.default")
def safe_softmax(build: Builder, input: Value, dim: int, dtype: Any) -> Value:
    return lines.safe_softmax(build, input, dim, dtype_of(dtype))
