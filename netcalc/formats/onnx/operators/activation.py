"""Activations with attributes, and functions of an axis such as softmax."""

from __future__ import annotations

from functools import partial
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import product
from netcalc.formats.graph.lines.operands import cast, unless_default
from netcalc.formats.graph.lines.shape import reshaped
from netcalc.formats.graph.lines.weights import learned
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call
from netcalc.formats.onnx.operators import operator


@operator("LeakyRelu")
def leaky_relu(call: Call) -> Value:
    return call.line("leaky_relu", [call.x()], {"negative_slope": unless_default(call.attribute("alpha", 0.01), 0.01)})


@operator("Elu")
def elu(call: Call) -> Value:
    return call.line("elu", [call.x()], {"alpha": unless_default(call.attribute("alpha", 1.0), 1.0)})


@operator("Celu")
def celu(call: Call) -> Value:
    return call.line("celu", [call.x()], {"alpha": unless_default(call.attribute("alpha", 1.0), 1.0)})


@operator("Selu")
def selu(call: Call) -> Value:
    """gamma·elu(x, alpha), where the operation has the usual numbers."""
    alpha, gamma = call.attribute("alpha", 1.6732632), call.attribute("gamma", 1.0507010)
    if abs(alpha - 1.6732632) < 1e-6 and abs(gamma - 1.0507010) < 1e-6:
        return call.line("selu", [call.x()])
    return call.line("mul", [call.line("elu", [call.x()], {"alpha": alpha})], {"value": gamma})


@operator("HardSigmoid")
def hard_sigmoid(call: Call) -> Value:
    """max(0, min(1, alpha·x + beta)), which PyTorch has with 1/6 and 1/2."""
    alpha, beta = call.attribute("alpha", 0.2), call.attribute("beta", 0.5)
    if abs(alpha - 1 / 6) < 1e-6 and beta == 0.5:
        return call.line("hardsigmoid", [call.x()])
    line = call.line("add", [call.line("mul", [call.x()], {"value": alpha})], {"value": beta})
    return call.line("clamp", [line], {"min": 0, "max": 1})


@operator("ThresholdedRelu")
def thresholded_relu(call: Call) -> Value:
    return call.line("threshold", [call.x()], {"threshold": call.attribute("alpha", 1.0), "value": 0})


@operator("Gelu")
def gelu(call: Call) -> Value:
    return call.line("gelu", [call.x()], {"approximate": unless_default(call.attribute("approximate", "none"), "none")})


@operator("SwiGLU")
def swiglu(call: Call) -> Value:
    """The swish of a gate times a value."""
    return call.line("mul", [swish(call), call.x(1)])


@operator("Swish")
def swish(call: Call) -> Value:
    """x·sigmoid(alpha·x)."""
    alpha = call.attribute("alpha", 1.0)
    if alpha == 1:
        return call.line("silu", [call.x()])
    gate = call.line("sigmoid", [call.line("mul", [call.x()], {"value": alpha})])
    return call.line("mul", [call.x(), gate])


@operator("PRelu")
def prelu(call: Call) -> Value:
    """x where positive, slope·x elsewhere; a learned slope of each channel or of all is a parameter of the layer."""
    x, slope = call.x(), call.x(1)
    sizes = [size for size in slope.type.shape if size != 1]
    if slope.stored is not None and learned(call.build, slope, x.type.dtype) and slope.type.rank == 1:
        rank = x.type.rank
        if not sizes or (rank == 2 and sizes == [x.type.shape[1]]):
            return call.build.line("prelu", [x], {"num_parameters": product(sizes)}, {"weight": slope})
    negative = call.line("mul", [x, slope])
    return call.line("where", [call.line("less", [x], {"value": 0}), negative, x])


@operator("Shrink")
def shrink(call: Call) -> Value:
    """x + bias below −lambd, x − bias above lambd, and 0 between."""
    bias, limit = call.attribute("bias", 0.0), call.attribute("lambd", 0.5)
    x = call.x()
    if bias == 0:
        return call.line("hardshrink", [x], {"lambd": limit})
    if bias == limit:
        return call.line("softshrink", [x], {"lambd": limit})
    low, high = call.line("less", [x], {"value": -limit}), call.line("greater", [x], {"value": limit})
    zero = call.line("mul", [x], {"value": 0})
    above = call.line("where", [high, call.line("sub", [x], {"value": bias}), zero])
    return call.line("where", [low, call.line("add", [x], {"value": bias}), above])


def _over_axis(operation: str, call: Call) -> Value:
    """Softmax over an axis; before opset 13 over this axis and all behind it."""
    rank = call.type(0).rank
    axis = call.axis(rank, -1 if call.version >= 13 else 1)
    if call.version >= 13 or axis == rank - 1:
        return call.line(operation, [call.x()], {"axis": None if axis == rank - 1 else axis})
    flat = call.line("flatten", [call.x()], {"start_axis": None if axis == 1 else axis})
    return reshaped(call.build, call.line(operation, [flat]), call.shape(0))


operator("Softmax")(partial(_over_axis, "softmax"))
operator("LogSoftmax")(partial(_over_axis, "log_softmax"))


@operator("Hardmax")
def hardmax(call: Call) -> Value:
    """1 at the first of the largest elements along an axis, 0 elsewhere."""
    rank, x = call.type(0).rank, call.x()
    axis = call.axis(rank, -1 if call.version >= 13 else 1)
    if call.version < 13 and axis != rank - 1:
        raise RuleError("hardmax over several axes")
    size: Any = x.type.shape[axis]
    place = call.line("one_hot", [call.line("argmax", [x], {"axis": axis})], {"num_classes": size})
    if axis != rank - 1:
        order = [*range(axis), rank - 1, *range(axis, rank - 1)]
        place = call.line("permute", [place], {"axes": order})
    return cast(call.build, place, x.type.dtype)
