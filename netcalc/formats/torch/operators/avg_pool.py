"""Means over sliding windows."""

from __future__ import annotations

from functools import partial
from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._windows import pooling_windows


def avg_pool(
    axes: int,
    build: Builder,
    input: Value,
    count_include_pad: bool,
    divisor_override: int | None = None,
    **windows: Any,
) -> Value:
    """Add a mean over windows of ``axes`` axes."""
    attributes = {
        **pooling_windows(**windows),
        "count_include_pad": None if count_include_pad else False,
        "divisor_override": divisor_override,
    }
    return build.line(f"avg_pool{axes}d", [input], attributes)


for _axes in (1, 2, 3):
    operator(f"aten.avg_pool{_axes}d.default")(partial(avg_pool, _axes))
