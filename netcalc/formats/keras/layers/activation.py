"""Layers that are activations."""

from __future__ import annotations

from math import prod

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.operands import cast, unless_default
from netcalc.formats.graph.model import Value
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.held import Form
from netcalc.formats.keras.layers import layer
from netcalc.formats.keras.layers._activations import along_axis, applied
from netcalc.formats.keras.operand import Operand

#: Number in place of what a mask hides, half the least one in single precision, as in Keras.
_LEAST = -1.7014117e38


@layer("Activation")
def activation(call: Call) -> Operand:
    return applied(call, call.operand(), call.get("activation"))


@layer("ReLU")
def relu(call: Call) -> Operand:
    """x limited from above, with a slope below the threshold."""
    operand, most = call.operand(), call.get("max_value")
    slope, threshold = call.number("negative_slope", 0.0), call.number("threshold", 0.0)
    return Operand(rectified(call, operand.value, slope, most, threshold), operand.first, operand.mask)


def rectified(call: Call, x: Value, slope: float, most: float | None, threshold: float) -> Value:
    """Return x where it is at least the threshold, and no more than the maximum; below slope·(x − threshold)."""
    if threshold:
        if slope:
            raise RuleError("a threshold together with a slope")
        result = call.line("threshold", [x], {"threshold": threshold, "value": 0.0})
    elif most == 6 and not slope:
        return call.line("relu6", [x])
    elif slope:
        result = call.line("leaky_relu", [x], {"negative_slope": slope})
    else:
        result = call.line("relu", [x])
    return result if most is None else call.line("clamp", [result], {"max": float(most)})


@layer("LeakyReLU")
def leaky_relu(call: Call) -> Operand:
    operand, old = call.operand(), call.get("alpha")
    slope = call.number("negative_slope", 0.3) if old is None else old
    return Operand(call.line("leaky_relu", [operand.value], {"negative_slope": slope}), operand.first, operand.mask)


@layer("ELU")
def elu(call: Call) -> Operand:
    operand = call.operand()
    attributes = {"alpha": unless_default(call.number("alpha", 1.0), 1.0)}
    return Operand(call.line("elu", [operand.value], attributes), operand.first, operand.mask)


@layer("Softmax")
def softmax(call: Call) -> Operand:
    axis = call.get("axis", -1)
    if isinstance(axis, list):
        if len(axis) != 1:
            raise RuleError("a softmax over several axes")
        (axis,) = axis
    operand, mask = call.operand(), call.argument(1, "mask")
    if mask is not None and not isinstance(mask, Operand):
        raise RuleError("its argument 'mask' should be a tensor")
    if mask is not None:
        hidden = call.line("logical_not", [cast(call.build, call.last(mask), "bool")])
        operand = Operand(call.line("masked_fill", [call.last(), hidden], {"value": _LEAST}), mask=operand.mask)
    return along_axis(call, "softmax", operand, axis)


@layer("PReLU")
def prelu(call: Call) -> Operand:
    """x where it is positive, and a learned slope elsewhere: one for all elements, for each channel, or others."""
    operand = call.operand()
    shared = call.get("shared_axes") or []
    shape = [1 if axis in shared else size for axis, size in enumerate(operand.shape)][1:]
    if not all(isinstance(size, int) for size in shape):
        raise RuleError("slopes for positions whose number is open")
    slopes = prod(size for size in shape if isinstance(size, int))
    if slopes == shape[-1] or slopes == 1:
        weight = call.weight("weight", "alpha", shape, Form(shape=(slopes,)))
        attributes = {"num_parameters": unless_default(slopes, 1)}
        result = call.build.line("prelu", [call.first()], attributes, {"weight": weight})
        return Operand(result, operand.rank > 2)
    x, weight = call.last(), call.weight("alpha", "alpha", shape)
    below = call.line("mul", [call.line("clamp", [x], {"max": 0.0}), weight])
    return Operand(call.line("add", [call.line("relu", [x]), below]))
