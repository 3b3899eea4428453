"""Dropout, which changes nothing in inference."""

from __future__ import annotations

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._operands import with_unused


@operator("aten.dropout.default", "aten.dropout_.default")
def dropout(build: Builder, input: Value, p: float, train: bool) -> Value:
    return build.line("dropout", [input], {"p": p}) if p and input.type.is_float else input


@operator("aten.feature_dropout.default", "aten.feature_dropout_.default")
def feature_dropout(build: Builder, input: Value, p: float, train: bool) -> Value:
    return build.line("dropout", [input], {"p": p, "channelwise": True}) if p else input


operator("aten.native_dropout.default")(with_unused(dropout))


@operator(
    "aten.alpha_dropout.default",
    "aten.alpha_dropout_.default",
    "aten.feature_alpha_dropout.default",
    "aten.feature_alpha_dropout_.default",
)
def alpha_dropout(build: Builder, input: Value, p: float, train: bool) -> Value:
    return input
