"""Operators on quantized numbers that onnxruntime adds to ONNX: those of ONNX on what the numbers mean."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call, Operand
from netcalc.formats.onnx.messages import Node
from netcalc.formats.onnx.operators import operator, rule_of
from netcalc.formats.onnx.operators.matmul import affine
from netcalc.formats.onnx.operators.quantization import bias_of, dequantized, quantized

_DOMAIN = "com.microsoft"


def _in_full(kind: str, call: Call, operands: Sequence[Operand | None]) -> Value:
    """Return what an operator of ONNX gives with the attributes of a node."""
    rule = rule_of("", kind)
    assert rule is not None
    attributes = {name: value for name, value in call.node.attributes.items() if name not in ("channels_last", "opset")}
    for name in call.node.attributes:
        call.attribute(name)  # which the inner call holds against what it knows
    if call.attribute("channels_last", 0):
        raise RuleError("channels as the last axis")
    node = Node(kind, "", call.node.name, list(call.node.inputs), list(call.node.outputs[:1]), attributes)
    inner = Call(node, call.build, call.attribute("opset", call.around.opset), operands, call.around)
    result = rule(inner)
    inner.require_read()
    value = result[0] if isinstance(result, (list, tuple)) else result
    return value if isinstance(value, Value) else value.materialized(call.build)


def _quantized(call: Call, result: Value, scale: int) -> Value:
    zero = call.optional(scale + 1)
    return quantized(call, result, call.x(scale), zero, 1, call.type(scale + 1 if zero is not None else 0).dtype)


def _elementwise(kind: str, count: int, call: Call) -> Value:
    """Operands, each with a scale and a zero point, and scale and zero point of the result."""
    operands = [dequantized(call, 3 * place, 1) for place in range(count)]
    return _quantized(call, _in_full(kind, call, operands), 3 * count)


for _name in ("Add", "Mul"):
    operator(f"{_DOMAIN}.QLinear{_name}")(partial(_elementwise, _name, 2))
for _name in ("AveragePool", "GlobalAveragePool", "LeakyRelu", "ReduceMean", "Sigmoid", "Softmax"):
    operator(f"{_DOMAIN}.QLinear{_name}")(partial(_elementwise, _name, 1))


@operator(f"{_DOMAIN}.QLinearConcat")
def qlinear_concat(call: Call) -> Value:
    """Scale and zero point of the result, and parts, each with a scale and a zero point."""
    if len(call) % 3 != 2:
        raise RuleError("parts without scales and zero points")
    parts = [dequantized(call, place, 1) for place in range(2, len(call), 3)]
    return _quantized(call, _in_full("Concat", call, parts), 0)


@operator(f"{_DOMAIN}.QLinearWhere")
def qlinear_where(call: Call) -> Value:
    """A condition, two operands, each with a scale and a zero point, and scale and zero point of the result."""
    operands = [call.operand(0), dequantized(call, 1, 1), dequantized(call, 4, 1)]
    return _quantized(call, _in_full("Where", call, operands), 7)


@operator(f"{_DOMAIN}.QGemm")
def qgemm(call: Call) -> Any:
    """alpha·A·B + C of what quantized matrices mean, quantized if scale and zero point of the result are given."""
    axis = 0 if call.attribute("transB", 0) else 1
    first, second = (
        dequantized(call, 0, 1).materialized(call.build),
        dequantized(call, 3, axis).materialized(call.build),
    )
    result = affine(call, first, second, bias_of(call, 6), float(call.attribute("alpha", 1.0)))
    return _quantized(call, result, 7) if call.has(7) else result
