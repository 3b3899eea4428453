"""Gated linear units."""

from __future__ import annotations

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.operands import unless_default
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator


@operator("aten.glu.default")
def glu(build: Builder, input: Value, dim: int) -> Value:
    return build.line("glu", [input], {"axis": unless_default(dim, -1)})
