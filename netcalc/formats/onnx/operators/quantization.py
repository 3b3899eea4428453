"""Quantized numbers: scaled integers with a zero point, and products of them."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dtypes import INTEGERS, ITEMSIZE, DType, limits
from netcalc.formats.graph.lines.matmul import product
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.lines.shape import reshaped
from netcalc.formats.graph.lines.weights import weighted
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call, Operand, front
from netcalc.formats.onnx.elements import dtype_named
from netcalc.formats.onnx.operators import operator
from netcalc.formats.onnx.operators.windows import convolution_attributes


def _aligned(call: Call, x: Value, vector: Value, axis: int) -> Value:
    """Return scales or zero points in the shape in which they meet a tensor: of all, of an axis, or of blocks."""
    rank = x.type.rank
    block = call.attribute("block_size", 0)
    if vector.type.rank == 0 or (vector.type.rank == 1 and vector.type.shape[0] == 1 and not block):
        return reshaped(call.build, vector, []) if vector.type.rank else vector
    if not block:
        after = rank - front(axis, rank) - 1
        return reshaped(call.build, vector, [*vector.type.shape, *[1] * after]) if after else vector
    repeated = call.line("repeat_interleave", [vector], {"repeats": block, "axis": front(axis, rank)})
    if repeated.type.shape != x.type.shape:
        raise RuleError("blocks that do not fill the axis")
    return repeated


def dequantized(call: Call, place: int, axis: int, dtype: DType = "float32", scale: int | None = None) -> Operand:
    """Return (x − zero)·scale in a floating-point type: a parameter for a tensor of the file.

    The scale is at a place, by default the next, and zero points behind it.
    """
    at = place + 1 if scale is None else scale
    stored = call.meant(place, (at,), at + 1, (axis, call.attribute("block_size", 0), dtype))
    if stored is not None:
        return stored
    x = call.x(place)
    value = cast(call.build, x, "int32")
    if call.has(at + 1):
        value = call.line("sub", [value, cast(call.build, _aligned(call, x, call.x(at + 1), axis), "int32")])
    factor = cast(call.build, _aligned(call, x, call.x(at), axis), "float32")
    return Operand(cast(call.build, call.line("mul", [cast(call.build, value, "float32"), factor]), dtype))


def quantized(call: Call, x: Value, scale: Value, zero: Value | None, axis: int, dtype: DType) -> Value:
    """Return round(x/scale) + zero, limited to the integers of a type."""
    if dtype not in INTEGERS or ITEMSIZE[dtype] > 2:
        raise RuleError(f"numbers that are quantized as {dtype}")
    low, high = limits(dtype)
    value = call.line(
        "div", [cast(call.build, x, "float32"), cast(call.build, _aligned(call, x, scale, axis), "float32")]
    )
    value = call.line("round", [value])
    if zero is not None:
        value = call.line("add", [value, cast(call.build, _aligned(call, x, zero, axis), "float32")])
    return cast(call.build, call.line("clamp", [value], {"min": low, "max": high}), dtype)


@operator("DequantizeLinear", "com.microsoft.DequantizeLinear")
def dequantize_linear(call: Call) -> Operand:
    kind = call.attribute("output_dtype", 0)
    dtype = dtype_named(kind) if kind else call.type(1).dtype
    return dequantized(call, 0, call.attribute("axis", 1), dtype)


@operator("QuantizeLinear", "com.microsoft.QuantizeLinear")
def quantize_linear(call: Call) -> Value:
    kind = call.attribute("output_dtype", 0)
    dtype: DType = dtype_named(kind) if kind else call.type(2).dtype if call.has(2) else "uint8"
    return quantized(call, call.x(), call.x(1), call.optional(2), call.attribute("axis", 1), dtype)


@operator("DynamicQuantizeLinear")
def dynamic_quantize_linear(call: Call) -> Any:
    """Numbers as uint8 with the scale and zero point of their own range, which includes 0."""
    x = call.x()
    low = call.line("clamp", [call.line("min", [x])], {"max": 0})
    high = call.line("clamp", [call.line("max", [x])], {"min": 0})
    scale = call.line("div", [call.line("sub", [high, low])], {"value": 255})
    zero = call.line("round", [call.line("div", [call.line("neg", [low]), scale])])
    zero = call.line("clamp", [zero], {"min": 0, "max": 255})
    value = call.line("add", [call.line("round", [call.line("div", [x, scale])]), zero])
    value = cast(call.build, call.line("clamp", [value], {"min": 0, "max": 255}), "uint8")
    return [value, scale, cast(call.build, zero, "uint8")]


@operator("QLinearMatMul")
def qlinear_matmul(call: Call) -> Value:
    """The product of what two quantized matrices mean, quantized."""
    a = dequantized(call, 0, -2).materialized(call.build)
    b = dequantized(call, 3, -1).materialized(call.build)
    return quantized(call, product(call.build, a, b), call.x(6), call.x(7), -2, call.type(7).dtype)


@operator("QLinearConv")
def qlinear_conv(call: Call) -> Value:
    """The convolution of what quantized numbers mean, quantized."""
    x = dequantized(call, 0, 1).materialized(call.build)
    weight = dequantized(call, 3, 0).materialized(call.build)
    attributes = convolution_attributes(call, weight)
    result = weighted(call.build, f"conv{x.type.rank - 2}d", x, weight, bias_of(call, 8), attributes)
    return quantized(call, result, call.x(6), call.x(7), 1, call.type(7).dtype)


def bias_of(call: Call, place: int) -> Value | None:
    """Return a bias, which counts in the product of the scales at places 1 and 4."""
    if not call.has(place):
        return None
    stored = call.meant(place, (1, 4), len(call), (0, 0, "float32"))
    if stored is not None:
        return stored.materialized(call.build)
    scale = call.line("mul", [reshaped(call.build, call.x(1), []), call.x(4)])
    return call.line("mul", [cast(call.build, call.x(place), "float32"), scale])


@operator("ConvInteger")
def conv_integer(call: Call) -> Value:
    """The convolution of integers without their zero points, in floating-point numbers, which hold these exactly."""
    operands = []
    for place, axis in ((0, 1), (1, 0)):
        value = cast(call.build, call.x(place), "float32")
        if call.has(place + 2):
            zero = cast(call.build, _aligned(call, value, call.x(place + 2), axis), "float32")
            value = call.line("sub", [value, zero])
        operands.append(value)
    attributes = convolution_attributes(call, operands[1])
    result = weighted(call.build, f"conv{operands[0].type.rank - 2}d", operands[0], operands[1], None, attributes)
    return cast(call.build, result, "int32")
