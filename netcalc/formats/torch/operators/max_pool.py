"""Maxima over sliding windows."""

from __future__ import annotations

from functools import partial
from typing import Any

from netcalc.dims import product
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.shape import reshaped
from netcalc.formats.graph.lines.windows import unless
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._windows import pooling_windows
from netcalc.formats.torch.operators.creation import filled


def max_pool(
    axes: int, indices: bool, build: Builder, input: Value, dilation: Any, **windows: Any
) -> Value | tuple[Value, ...]:
    """Add a maximum over windows of ``axes`` axes, with the places of the maxima if ``indices``."""
    attributes = {
        **pooling_windows(**windows),
        "dilation": unless(dilation, 1),
        "return_indices": indices or None,
    }
    outputs = build.lines(f"max_pool{axes}d", [input], attributes)
    return outputs if indices else outputs[0]


for _axes in (1, 2, 3):
    operator(f"aten.max_pool{_axes}d.default")(partial(max_pool, _axes, False))
    operator(f"aten.max_pool{_axes}d_with_indices.default")(partial(max_pool, _axes, True))


def max_unpool(axes: int, build: Builder, input: Value, indices: Value, output_size: Any, **_: Any) -> Value:
    """Elements at the places of their maxima in a window, and zeros elsewhere."""
    leading = input.type.shape[:-axes]
    flat = [reshaped(build, value, [*leading, product(input.type.shape[-axes:])]) for value in (input, indices)]
    zeros = filled(build, (*leading, product(output_size)), 0, input.type.dtype)
    placed = build.line("scatter", [zeros, flat[1], flat[0]], {"axis": -1})
    return reshaped(build, placed, [*leading, *output_size])


operator("aten.max_unpool2d.default")(partial(max_unpool, 2))
operator("aten.max_unpool3d.default")(partial(max_unpool, 3))
