"""Rectifiers."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.elementwise import combined
from netcalc.formats.graph.lines.operands import cast, unless_default
from netcalc.formats.graph.lines.weights import learned
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._elementwise import function, register_functions
from netcalc.formats.torch.operators._operands import operator_and_in_place
from netcalc.formats.torch.operators.random import uniform_like

register_functions("relu", "leaky_relu")


@operator_and_in_place("aten.rrelu.default")
def rrelu(build: Builder, input: Value, lower: Any, upper: Any, training: bool, generator: Any) -> Value:
    if training:
        slopes = uniform_like(build, input, float(lower), float(upper))
        negative = build.line("less_equal", [input], {"value": 0})
        return build.line("where", [negative, build.line("mul", [input, slopes]), input])
    return function("leaky_relu", build, input, negative_slope=(lower + upper) / 2)


@operator("aten.prelu.default")
def prelu(build: Builder, input: Value, weight: Value) -> Value:
    """Rectifier with a slope for all elements or one for each channel; slopes that are no parameters multiply."""
    shape = weight.type.shape
    if learned(build, weight, input.type.dtype) and len(shape) == 1:
        return build.line("prelu", [input], {"num_parameters": unless_default(shape[0], 1)}, {"weight": weight})
    slopes = cast(build, weight, input.type.dtype)
    if len(shape) == 1 and (after := len(input.type.shape) - 2) > 0:
        slopes = build.line("reshape", [slopes], {"shape": [shape[0], *[1] * after]})
    elif not input.type.shape:
        slopes = build.line("reshape", [slopes], {"shape": []})
    product = combined(build, "mul", input, slopes)
    return build.line("where", [build.line("greater", [input], {"value": 0}), input, product])
