"""Activations."""

from __future__ import annotations

from functools import partial
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._operands import cast, operator_and_in_place, unless_default

#: Activations without attributes, by their operators; those with an underscore at the end are in-place variants too.
_PLAIN = {
    "selu": ("selu", "selu_"),
    "silu": ("silu", "silu_"),
    "mish": ("mish", "mish_"),
    "hardswish": ("hardswish", "hardswish_"),
    "hardsigmoid": ("hardsigmoid", "hardsigmoid_"),
    "sigmoid": ("sigmoid", "sigmoid_", "special_expit"),
    "logsigmoid": ("log_sigmoid",),
    "tanh": ("tanh", "tanh_"),
}


def _without_settings(operation: str, build: Builder, input: Value) -> Value:
    return build.line(operation, [_floats(build, input) if operation in ("sigmoid", "tanh") else input])


def _floats(build: Builder, input: Value) -> Value:
    """Return the input of a function that PyTorch computes in float32 for integers."""
    return cast(build, input, None if input.type.is_float else "float32")


for _operation, _names in _PLAIN.items():
    for _name in _names:
        operator(f"aten.{_name}.default")(partial(_without_settings, _operation))


@operator_and_in_place("aten.gelu.default")
def gelu(build: Builder, input: Value, approximate: str) -> Value:
    return build.line("gelu", [input], {"approximate": unless_default(approximate, "none")})


@operator_and_in_place("aten.elu.default")
def elu(build: Builder, input: Value, alpha: Any, scale: Any, input_scale: Any) -> Value:
    if scale != 1 or input_scale != 1:
        raise RuleError("elu has no scales; use selu or celu")
    return build.line("elu", [input], {"alpha": unless_default(alpha, 1)})


@operator_and_in_place("aten.celu.default")
def celu(build: Builder, input: Value, alpha: Any) -> Value:
    return build.line("celu", [input], {"alpha": unless_default(alpha, 1)})


@operator_and_in_place("aten.hardtanh.default")
def hardtanh(build: Builder, input: Value, min_val: Any, max_val: Any) -> Value:
    if (min_val, max_val) == (0, 6):
        return build.line("relu6", [input])
    return build.line("hardtanh", [input], {"min": unless_default(min_val, -1), "max": unless_default(max_val, 1)})


@operator("aten.softplus.default")
def softplus(build: Builder, input: Value, beta: Any, threshold: Any) -> Value:
    attributes = {"beta": unless_default(beta, 1), "threshold": unless_default(threshold, 20)}
    return build.line("softplus", [input], attributes)


@operator_and_in_place("aten.threshold.default")
def threshold(build: Builder, input: Value, threshold: Any, value: Any) -> Value:
    attributes = {"threshold": unless_default(threshold, 0), "value": unless_default(value, 0)}
    return build.line("threshold", [input], attributes)


@operator("aten.hardshrink.default")
def hardshrink(build: Builder, input: Value, lambd: Any) -> Value:
    return build.line("hardshrink", [input], {"lambd": unless_default(lambd, 0.5)})


@operator("aten.softshrink.default")
def softshrink(build: Builder, input: Value, lambd: Any) -> Value:
    return build.line("softshrink", [input], {"lambd": unless_default(lambd, 0.5)})


@operator_and_in_place("aten.logit.default")
def logit(build: Builder, input: Value, eps: float | None) -> Value:
    input = _floats(build, input)
    if eps is not None:
        input = build.line("clamp", [input], {"min": eps, "max": 1 - eps})
    others = build.line("sub", [input], {"value": 1, "reverse": True})
    return build.line("log", [build.line("div", [input, others])])
