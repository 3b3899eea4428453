"""Activations."""

from __future__ import annotations

from functools import partial
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.operands import cast, unless_default
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._elementwise import function, register_functions
from netcalc.formats.torch.operators._operands import operator_and_in_place
from netcalc.formats.torch.operators.creation import filled

register_functions("selu", "silu", "mish", "hardswish", "hardsigmoid", "gelu", "celu")
for _name in ("softplus", "hardshrink", "softshrink"):
    operator(f"aten.{_name}.default")(partial(function, _name))
operator("aten.log_sigmoid.default")(partial(function, "logsigmoid"))


def _floats(build: Builder, input: Value) -> Value:
    """Return the input of a function that PyTorch computes in float32 for integers."""
    return cast(build, input, None if input.type.is_inexact else "float32")


def _of_floats(operation: str, build: Builder, input: Value) -> Value:
    return build.line(operation, [_floats(build, input)])


register_functions("tanh", rule=_of_floats, sigmoid="special_expit")


@operator_and_in_place("aten.elu.default")
def elu(build: Builder, input: Value, alpha: Any, scale: Any, input_scale: Any) -> Value:
    if scale != 1 or input_scale != 1:
        raise RuleError("elu has no scales; use selu or celu")
    return build.line("elu", [input], {"alpha": unless_default(alpha, 1)})


@operator_and_in_place("aten.hardtanh.default", "aten.relu6.default")
def hardtanh(build: Builder, input: Value, min_val: Any = 0, max_val: Any = 6) -> Value:
    if not input.type.is_float:
        return build.line("clamp", [input], {"min": min_val, "max": max_val})
    if (min_val, max_val) == (0, 6):
        return build.line("relu6", [input])
    return build.line("hardtanh", [input], {"min": unless_default(min_val, -1), "max": unless_default(max_val, 1)})


@operator_and_in_place("aten.threshold.default")
def threshold(build: Builder, input: Value, threshold: Any, value: Any) -> Value:
    if input.type.is_float:
        return function("threshold", build, input, threshold=threshold, value=value)
    above = build.line("greater", [input], {"value": threshold})
    return build.line("where", [above, input, filled(build, (), value, input.type.dtype)])


@operator_and_in_place("aten.logit.default")
def logit(build: Builder, input: Value, eps: float | None) -> Value:
    input = _floats(build, input)
    if eps is not None:
        input = build.line("clamp", [input], {"min": eps, "max": 1 - eps})
    others = build.line("sub", [input], {"value": 1, "reverse": True})
    return build.line("log", [build.line("div", [input, others])])
