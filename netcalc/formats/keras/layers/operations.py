"""Operations on tensors, ``keras.ops``, in functional models: element by element."""

from __future__ import annotations

from functools import partial
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dtypes import DTYPES
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.layers import layer
from netcalc.formats.keras.layers._activations import COMPUTED, PLAIN, along_axis
from netcalc.formats.keras.layers._arithmetic import binary, combined, constant
from netcalc.formats.keras.layers.activation import rectified
from netcalc.formats.keras.operand import Operand
from netcalc.formats.keras.problems import clipped

_BINARY = {
    "Add": "add",
    "Subtract": "sub",
    "Multiply": "mul",
    "Divide": "div",
    "TrueDivide": "div",
    "Power": "pow",
    "Maximum": "maximum",
    "Minimum": "minimum",
    "Mod": "remainder",
    "Equal": "equal",
    "NotEqual": "not_equal",
    "Less": "less",
    "LessEqual": "less_equal",
    "Greater": "greater",
    "GreaterEqual": "greater_equal",
}
_UNARY = {
    "Absolute": "abs",
    "Abs": "abs",
    "Arctan": "atan",
    "Ceil": "ceil",
    "Cos": "cos",
    "Cosh": "cosh",
    "Erf": "erf",
    "Exp": "exp",
    "Expm1": "expm1",
    "Floor": "floor",
    "Log": "log",
    "Log1p": "log1p",
    "Log2": "log2",
    "Negative": "neg",
    "Reciprocal": "reciprocal",
    "Round": "round",
    "Rsqrt": "rsqrt",
    "Sign": "sign",
    "Sin": "sin",
    "Sinh": "sinh",
    "Sqrt": "sqrt",
    "Square": "square",
    "Tan": "tan",
    "Trunc": "trunc",
    "LogicalNot": "logical_not",
}
#: Classes of activations by the names of their functions, where these differ otherwise than in case.
_ACTIVATIONS = {
    **{
        name: name.lower()
        for name in ("Sigmoid", "Silu", "Selu", "Celu", "Softplus", "Softsign", "Tanh", "Mish", "Relu6")
    },
    "LogSigmoid": "log_sigmoid",
    "HardSigmoid": "hard_sigmoid",
    "HardSilu": "hard_silu",
    "TanhShrink": "tanh_shrink",
    "HardTanh": "hard_tanh",
    "Squareplus": "squareplus",
    "SparsePlus": "sparse_plus",
    "SparseSigmoid": "sparse_sigmoid",
    "Relu": "relu",
}


def _both(operation: str, call: Call) -> Operand:
    return binary(call, operation, call.argument(0, "x1"), call.argument(1, "x2"))


def _one(operation: str, call: Call) -> Operand:
    operand = call.operand(0, "x")
    return Operand(call.line(operation, [operand.value]), operand.first, operand.mask)


def _activation(name: str, call: Call) -> Operand:
    operand = call.operand(0, "x")
    if name in COMPUTED:
        call.without("b", 4)
        return Operand(COMPUTED[name](call, operand.value), operand.first, operand.mask)
    operation, attributes = PLAIN[name]
    call.without("alpha", 1.0, 1)
    return Operand(call.line(operation, [operand.value], dict(attributes)), operand.first, operand.mask)


for _class, _operation in _BINARY.items():
    layer(f"ops.{_class}")(partial(_both, _operation))
for _class, _operation in _UNARY.items():
    layer(f"ops.{_class}")(partial(_one, _operation))
for _class, _operation in _ACTIVATIONS.items():
    layer(f"ops.{_class}")(partial(_activation, _operation))


@layer("ops.LogicalAnd", "ops.LogicalOr")
def logical(call: Call) -> Operand:
    name = {"LogicalAnd": "logical_and", "LogicalOr": "logical_or"}[call.layer.kind]
    return combined(call, name, [call.operand(0, "x1"), call.operand(1, "x2")])


@layer("ops.ReLU")
def relu(call: Call) -> Operand:
    """The function ``keras.activations.relu``."""
    operand = call.operand(0, "x")
    slope, threshold = call.number("negative_slope", 0.0), call.number("threshold", 0.0)
    return Operand(rectified(call, operand.value, slope, call.get("max_value"), threshold), operand.first, operand.mask)


@layer("ops.LeakyRelu")
def leaky_relu(call: Call) -> Operand:
    operand = call.operand(0, "x")
    attributes = {"negative_slope": call.number("negative_slope", 0.2)}
    return Operand(call.line("leaky_relu", [operand.value], attributes), operand.first, operand.mask)


@layer("ops.Gelu")
def gelu(call: Call) -> Operand:
    operand = call.operand(0, "x")
    attributes = {"approximate": "tanh"} if call.flag("approximate", True) else {}
    return Operand(call.line("gelu", [operand.value], attributes), operand.first, operand.mask)


@layer("ops.Elu")
def elu(call: Call) -> Operand:
    operand = call.operand(0, "x")
    return Operand(call.line("elu", [operand.value], {"alpha": call.number("alpha", 1.0)}), operand.first, operand.mask)


@layer("ops.Softmax", "ops.LogSoftmax", "ops.Glu")
def along_one_axis(call: Call) -> Operand:
    name = {"Softmax": "softmax", "LogSoftmax": "log_softmax", "Glu": "glu"}[call.layer.kind]
    return along_axis(call, name, call.operand(0, "x"), call.get("axis", -1))


@layer("ops.Clip")
def clip(call: Call) -> Operand:
    operand = call.operand(0, "x")
    attributes = {"min": float(call.number("x_min")), "max": float(call.number("x_max"))}
    return Operand(call.line("clamp", [operand.value], attributes), operand.first, operand.mask)


@layer("ops.Cast")
def cast_to(call: Call) -> Operand:
    operand, dtype = call.operand(0, "x"), call.get("dtype")
    call.get("name")
    if dtype not in DTYPES:
        raise RuleError(f"type {clipped(dtype)} is not known")
    return Operand(cast(call.build, operand.value, dtype), operand.first, operand.mask)


@layer("ops.Where")
def where(call: Call) -> Operand:
    condition = call.operand(0, "condition")
    branches = [call.argument(place, name) for place, name in ((1, "x1"), (2, "x2"))]
    tensors = [branch for branch in branches if isinstance(branch, Operand)]
    if not tensors:
        raise RuleError("it has no tensor to choose from")
    filled: list[Any] = [
        branch if isinstance(branch, Operand) else constant(call, branch, tensors[0]) for branch in branches
    ]
    condition = Operand(cast(call.build, condition.value, "bool"), condition.first)
    return combined(call, "where", [condition, *filled])


@layer("ops.StopGradient")
def stop_gradient(call: Call) -> Operand:
    operand = call.operand(0, "variable")
    return Operand(call.line("detach", [operand.value]), operand.first, operand.mask)


@layer("ops.Identity", "ops.Copy")
def copy(call: Call) -> Operand:
    return call.operand(0, "x")
