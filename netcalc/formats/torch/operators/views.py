"""Views: the same elements in another shape or order."""

from __future__ import annotations

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator


@operator("aten.flatten.using_ints")
def flatten(build: Builder, input: Value, start_dim: int, end_dim: int) -> Value:
    rank = len(input.type.shape)
    return build.line(
        "flatten",
        [input],
        {
            "start_axis": None if start_dim == 1 else start_dim,
            "end_axis": None if end_dim in (-1, rank - 1) else end_dim,
        },
    )
