"""Arithmetic of two tensors, or of a tensor and a number."""

from __future__ import annotations

from functools import partial
from math import pi
from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.elementwise import combined
from netcalc.formats.graph.lines.operands import cast, common_type
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._operands import in_place, operator_and_in_place


def _scaled(build: Builder, input: Value | Any, other: Value | Any, alpha: Any) -> Value | Any:
    """Return other·alpha, in the type of its sum with the input."""
    if alpha == 1:
        return other
    if not isinstance(other, Value):
        return other * alpha
    return combined(build, "mul", cast(build, other, common_type([input, other])), alpha)


def _kept_bool(build: Builder, result: Value, *operands: Any) -> Value:
    """Return the result of bools and Python's bools as a bool; netcalc counts these numbers as integers."""
    kinds = [operand.type.dtype if isinstance(operand, Value) else type(operand).__name__ for operand in operands]
    return cast(build, result, "bool" if all(kind == "bool" for kind in kinds) else None)


@operator_and_in_place("aten.add.Tensor", "aten.add.Scalar")
def add(build: Builder, input: Value | Any, other: Value | Any, alpha: Any) -> Value:
    return _kept_bool(build, combined(build, "add", input, _scaled(build, input, other, alpha)), input, other)


@operator_and_in_place("aten.sub.Tensor", "aten.sub.Scalar", "aten.subtract.Tensor", "aten.subtract.Scalar")
def sub(build: Builder, input: Value | Any, other: Value | Any, alpha: Any) -> Value:
    return combined(build, "sub", input, _scaled(build, input, other, alpha))


@operator("aten.rsub.Tensor", "aten.rsub.Scalar")
def rsub(build: Builder, input: Value, other: Value | Any, alpha: Any) -> Value:
    return combined(build, "sub", other, _scaled(build, other, input, alpha))


@operator_and_in_place("aten.mul.Tensor", "aten.mul.Scalar", "aten.multiply.Tensor", "aten.multiply.Scalar")
def mul(build: Builder, input: Value | Any, other: Value | Any) -> Value:
    return _kept_bool(build, combined(build, "mul", input, other), input, other)


@operator_and_in_place(
    *("aten.div.Tensor", "aten.div.Scalar", "aten.div.Tensor_mode", "aten.div.Scalar_mode"),
    *("aten.divide.Tensor", "aten.divide.Scalar", "aten.divide.Tensor_mode", "aten.divide.Scalar_mode"),
    *("aten.true_divide.Tensor", "aten.true_divide.Scalar"),
)
def div(build: Builder, input: Value | Any, other: Value | Any, rounding_mode: str | None = None) -> Value:
    return combined(build, "div", input, other, {"rounding": rounding_mode})


@operator("aten.floor_divide.default")
@operator_and_in_place("aten.floor_divide.Scalar")
def floor_divide(build: Builder, input: Value | Any, other: Value | Any) -> Value:
    return div(build, input, other, "floor")


@operator("aten.pow.Tensor_Tensor", "aten.pow.Tensor_Scalar", "aten.pow.Scalar")
def power(build: Builder, input: Value | Any, exponent: Value | Any) -> Value:
    return combined(build, "pow", input, exponent)


operator("aten.pow_.Tensor", "aten.pow_.Scalar")(in_place(power))
operator("aten.floor_divide_.Tensor")(in_place(floor_divide))


@operator("aten.float_power.Tensor_Tensor", "aten.float_power.Tensor_Scalar", "aten.float_power.Scalar")
def float_power(build: Builder, input: Value | Any, exponent: Value | Any) -> Value:
    base, power = (cast(build, x, "float64") if isinstance(x, Value) else float(x) for x in (input, exponent))
    return combined(build, "pow", base, power)


operator("aten.minimum.default", "aten.min.other")(partial(combined, operation="minimum"))
operator("aten.maximum.default", "aten.max.other")(partial(combined, operation="maximum"))


def _added(operation: str, build: Builder, input: Value, tensor1: Value, tensor2: Value, value: Any) -> Value:
    term = combined(build, operation, tensor1, tensor2)
    return build.line("add", [input, term if value == 1 else build.line("mul", [term], {"value": value})])


operator_and_in_place("aten.addcmul.default")(partial(_added, "mul"))
operator_and_in_place("aten.addcdiv.default")(partial(_added, "div"))


@operator_and_in_place("aten.lerp.Scalar", "aten.lerp.Tensor")
def lerp(build: Builder, input: Value, end: Value, weight: Value | Any) -> Value:
    way = combined(build, "mul", build.line("sub", [end, input]), weight)
    return build.line("add", [input, way])


def _times(factor: float, build: Builder, input: Value) -> Value:
    return build.line("mul", [input], {"value": factor})


operator_and_in_place("aten.deg2rad.default")(partial(_times, pi / 180))
operator_and_in_place("aten.rad2deg.default")(partial(_times, 180 / pi))
