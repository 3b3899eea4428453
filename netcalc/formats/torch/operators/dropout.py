"""Dropout."""

from __future__ import annotations

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator


@operator("aten.dropout.default", "aten.dropout_.default")
def dropout(build: Builder, input: Value, p: float, train: bool) -> Value:
    return build.line("dropout", [input], {"p": p}) if p else input
