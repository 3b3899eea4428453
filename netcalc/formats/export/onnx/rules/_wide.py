"""Arithmetic of 16-bit numbers, which netcalc and PyTorch do in single precision."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor

_HALF = ("float16", "bfloat16")


def wide(graph: Emitter, x: Tensor) -> Tensor:
    """Return numbers of 16 bits in single precision, others as they are."""
    return graph.cast(x, "float32") if x.dtype in _HALF else x


def ones(graph: Emitter, like: Tensor, count: int, value: float = 1.0) -> Tensor:
    """Return a vector of equal numbers in the element type of a value."""
    return graph.constant([value] * count, like.type.with_shape(count))
