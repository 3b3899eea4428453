"""Pooling to a given size, of which size 1 is global pooling."""

from __future__ import annotations

from functools import partial
from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.windows import plain
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator


def adaptive_avg_pool(axes: int, build: Builder, input: Value, output_size: Any) -> Value:
    """Add a mean to a given size of ``axes`` axes; to a single element it is global."""
    if plain(output_size) == 1:
        return build.line(f"global_avg_pool{axes}d", [input])
    return build.line(f"adaptive_avg_pool{axes}d", [input], {"output_size": plain(output_size)})


def adaptive_max_pool(axes: int, build: Builder, input: Value, output_size: Any) -> tuple[Value, ...]:
    """Add a maximum to a given size of ``axes`` axes, with the places of the maxima."""
    attributes = {"output_size": plain(output_size), "return_indices": True}
    return build.lines(f"adaptive_max_pool{axes}d", [input], attributes)


for _axes in (1, 2, 3):
    operator(f"aten.adaptive_avg_pool{_axes}d.default")(partial(adaptive_avg_pool, _axes))
    operator(f"aten.adaptive_max_pool{_axes}d.default")(partial(adaptive_max_pool, _axes))
for _axes in (2, 3):
    operator(f"aten._adaptive_avg_pool{_axes}d.default")(partial(adaptive_avg_pool, _axes))
