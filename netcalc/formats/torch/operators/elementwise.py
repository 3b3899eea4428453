"""Elementwise arithmetic and activations."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator


@operator("aten.relu.default", "aten.relu_.default")
def relu(build: Builder, input: Value) -> Value:
    return build.line("relu", [input])


@operator("aten.add.Tensor", "aten.add_.Tensor")
def add(build: Builder, input: Value, other: Value | Any, alpha: Any) -> Value:
    if not isinstance(other, Value):
        return build.line("add", [input], {"value": other * alpha})
    return build.line("add", [input, other if alpha == 1 else build.line("mul", [other], {"value": alpha})])


@operator("aten.gelu.default")
def gelu(build: Builder, input: Value, approximate: str) -> Value:
    return build.line("gelu", [input], {"approximate": None if approximate == "none" else approximate})


@operator("aten.dropout.default", "aten.dropout_.default")
def dropout(build: Builder, input: Value, p: float, train: bool) -> Value:
    return build.line("dropout", [input], {"p": p}) if p else input
