"""Linear maps, and weights by direction and length."""

from __future__ import annotations

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.weights import learned, weighted
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._operands import with_unused


@operator("aten.linear.default")
def linear(build: Builder, input: Value, weight: Value, bias: Value | None) -> Value:
    if len(weight.type.shape) == 1:  # y = x·w, without an axis of outputs
        product = build.line("matmul", [input, weight])
        return product if bias is None else build.line("add", [product, bias])
    return weighted(build, "linear", input, weight, bias, {"out": weight.type.shape[0]})


@operator("aten.bilinear.default")
def bilinear(build: Builder, input1: Value, input2: Value, weight: Value, bias: Value | None) -> Value:
    dtype = input1.type.dtype
    if not all(value is None or learned(build, value, dtype) for value in (weight, bias)):
        return _bilinear_of_computed(build, input1, input2, weight, bias)
    attributes = {"out": weight.type.shape[0], "bias": None if bias is not None else False}
    return build.line("bilinear", [input1, input2], attributes, {"weight": weight, "bias": bias})


def _bilinear_of_computed(build: Builder, input1: Value, input2: Value, weight: Value, bias: Value | None) -> Value:
    """Σⱼ x₂ⱼ·Σᵢ x₁ᵢ·Aᵢⱼ + b, as products and sums of elements, since PyTorch runs no product of matrices."""
    rows = build.line("unsqueeze", [build.line("unsqueeze", [input1], {"axis": -2})], {"axis": -1})
    column = build.line("unsqueeze", [input2], {"axis": -2})
    first = build.line("sum", [build.line("mul", [rows, weight])], {"axis": -2})
    result = build.line("sum", [build.line("mul", [first, column])], {"axis": -1})
    return result if bias is None else build.line("add", [result, bias])


@operator("aten._weight_norm.default")
def weight_norm(build: Builder, v: Value, g: Value, dim: int) -> Value:
    """Direction v/‖v‖ times length g; the norm is over all axes but ``dim``, or over all where it is -1."""
    rank = len(v.type.shape)
    others = None if dim == -1 else [axis for axis in range(rank) if axis != dim]
    norm = build.line("vector_norm", [v], {"axis": others, "keepdim": True})
    return build.line("mul", [v, build.line("div", [g, norm])])


operator("aten._weight_norm_interface.default")(with_unused(weight_norm))
