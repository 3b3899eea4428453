"""Layers that ``keras.applications`` has of its own."""

from __future__ import annotations

from netcalc.diagnostics import RuleError
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.layers import layer
from netcalc.formats.keras.layers._arithmetic import combined
from netcalc.formats.keras.operand import Operand


@layer("CustomScaleLayer")
def custom_scale(call: Call) -> Operand:
    """x₀ + scale·x₁, of Inception-ResNet."""
    operands = call.operands(least=2)
    if len(operands) != 2:
        raise RuleError("a sum of other than two tensors")
    scaled = call.line("mul", [operands[1].value], {"value": float(call.number("scale"))})
    return combined(call, "add", [operands[0], Operand(scaled, operands[1].first)])


@layer("LayerScale")
def layer_scale(call: Call) -> Operand:
    """A learned factor for each channel, of ConvNeXt."""
    call.get("init_values")
    size = call.integer("projection_dim")
    return Operand(call.line("mul", [call.last(), call.weight("gamma", "gamma", (size,))]))


@layer("StochasticDepth")
def stochastic_depth(call: Call) -> Operand:
    operand, rate = call.operand(), call.number("drop_path_rate")
    if not rate:
        return operand
    return Operand(call.line("stochastic_depth", [operand.value], {"p": rate}), operand.first)
