"""Softmax and its logarithm."""

from __future__ import annotations

from math import inf

from netcalc.dtypes import DType
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.model import Value


def along_axis(build: Builder, operation: str, x: Value, axis: int, dtype: DType | None) -> Value:
    """Add ``softmax`` or ``log_softmax`` along an axis, computed in an element type; None stands for the input's."""
    last = axis in (-1, x.type.rank - 1)
    return build.line(operation, [cast(build, x, dtype)], {"axis": None if last else axis})


def safe_softmax(build: Builder, x: Value, axis: int, dtype: DType | None) -> Value:
    """Softmax that gives zeros where all elements are −∞."""
    largest = build.line("max", [x], {"axis": axis, "keepdim": True})
    masked = build.line("equal", [largest], {"value": -inf})
    return build.line("masked_fill", [along_axis(build, "softmax", x, axis, dtype), masked], {"value": 0.0})
