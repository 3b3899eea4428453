"""Rectifiers."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._elementwise import function, register_functions
from netcalc.formats.torch.operators._operands import operator_and_in_place, unless_default
from netcalc.formats.torch.operators.random import uniform_like

register_functions("relu", "relu6", "leaky_relu")


@operator_and_in_place("aten.rrelu.default")
def rrelu(build: Builder, input: Value, lower: Any, upper: Any, training: bool, generator: Any) -> Value:
    if training:
        slopes = uniform_like(build, input, float(lower), float(upper))
        negative = build.line("less_equal", [input], {"value": 0})
        return build.line("where", [negative, build.line("mul", [input, slopes]), input])
    return function("leaky_relu", build, input, negative_slope=(lower + upper) / 2)


@operator("aten.prelu.default")
def prelu(build: Builder, input: Value, weight: Value) -> Value:
    if weight.stored is None or len(weight.type.shape) != 1:
        raise RuleError("prelu takes slopes that are parameters")
    return build.line("prelu", [input], {"num_parameters": unless_default(weight.type.shape[0], 1)}, {"weight": weight})
