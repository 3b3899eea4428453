"""Products with matrices, which are linear maps if these are stored."""

from __future__ import annotations

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.weights import weighted
from netcalc.formats.graph.model import Value
from netcalc.tensor_type import TensorType


def product(build: Builder, input: Value, weight: Value, bias: Value | None = None) -> Value:
    """Add a matrix product, and a bias; with a stored matrix it is a linear map, whose weight is the transpose."""
    stored, shape = weight.stored, weight.type.shape
    fits = len(shape) == 2 and input.type.shape and input.stored is None and input.type.is_inexact
    if stored is not None and fits and (bias is None or len(bias.type.shape) == 1):
        turned = stored._replace(transpose=not stored.transpose)
        transposed = Value(TensorType(shape[::-1], weight.type.dtype), weight.hint, turned)
        return weighted(build, "linear", input, transposed, bias, {"out": shape[1]})
    result = build.line("matmul", [input, weight])
    return result if bias is None else build.line("add", [result, bias])
