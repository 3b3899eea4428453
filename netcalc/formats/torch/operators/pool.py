"""Pooling over sliding windows, and to a given size."""

from __future__ import annotations

from functools import partial
from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators.linear import plain, unless


def _windows(kernel: Any, stride: Any, padding: Any, ceil_mode: bool) -> dict[str, Any]:
    """Return the attributes that all pooling with a sliding window has."""
    found = plain(kernel)
    return {
        "kernel": found,
        "stride": unless(stride, found),
        "padding": unless(padding, 0),
        "ceil_mode": ceil_mode or None,
    }


def max_pool(
    axes: int,
    indices: bool,
    build: Builder,
    input: Value,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> Value | tuple[Value, ...]:
    attributes = {
        **_windows(kernel_size, stride, padding, ceil_mode),
        "dilation": unless(dilation, 1),
        "return_indices": indices or None,
    }
    outputs = build.lines(f"max_pool{axes}d", [input], attributes)
    return outputs if indices else outputs[0]


def avg_pool(
    axes: int,
    build: Builder,
    input: Value,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None = None,
) -> Value:
    attributes = {
        **_windows(kernel_size, stride, padding, ceil_mode),
        "count_include_pad": None if count_include_pad else False,
        "divisor_override": divisor_override,
    }
    return build.line(f"avg_pool{axes}d", [input], attributes)


def adaptive_avg_pool(axes: int, build: Builder, input: Value, output_size: Any) -> Value:
    if plain(output_size) == 1:
        return build.line(f"global_avg_pool{axes}d", [input])
    return build.line(f"adaptive_avg_pool{axes}d", [input], {"output_size": plain(output_size)})


def adaptive_max_pool(axes: int, build: Builder, input: Value, output_size: Any) -> tuple[Value, ...]:
    attributes = {"output_size": plain(output_size), "return_indices": True}
    return build.lines(f"adaptive_max_pool{axes}d", [input], attributes)


for _axes in (1, 2, 3):
    operator(f"aten.max_pool{_axes}d.default")(partial(max_pool, _axes, False))
    operator(f"aten.max_pool{_axes}d_with_indices.default")(partial(max_pool, _axes, True))
    operator(f"aten.avg_pool{_axes}d.default")(partial(avg_pool, _axes))
    operator(f"aten.adaptive_avg_pool{_axes}d.default")(partial(adaptive_avg_pool, _axes))
    operator(f"aten.adaptive_max_pool{_axes}d.default")(partial(adaptive_max_pool, _axes))
for _axes in (2, 3):
    operator(f"aten._adaptive_avg_pool{_axes}d.default")(partial(adaptive_avg_pool, _axes))
