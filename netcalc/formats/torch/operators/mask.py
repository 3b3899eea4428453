"""Triangles of matrices."""

from __future__ import annotations

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator


@operator("aten.tril.default")
def tril(build: Builder, input: Value, diagonal: int) -> Value:
    return build.line("tril", [input], {"diagonal": diagonal or None})


@operator("aten.triu.default")
def triu(build: Builder, input: Value, diagonal: int) -> Value:
    return build.line("triu", [input], {"diagonal": diagonal or None})
