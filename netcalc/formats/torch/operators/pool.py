"""Pooling."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators.linear import plain, unless


@operator("aten.max_pool1d.default", "aten.max_pool2d.default", "aten.max_pool3d.default")
def max_pool(
    build: Builder, input: Value, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Value:
    axes = len(kernel_size)
    kernel = plain(kernel_size)
    attributes = {
        "kernel": kernel,
        "stride": plain(stride) if stride else None,
        "padding": unless(padding, 0),
        "dilation": unless(dilation, 1),
        "ceil_mode": ceil_mode or None,
    }
    return build.line(f"max_pool{axes}d", [input], attributes)


@operator("aten.adaptive_avg_pool1d.default", "aten.adaptive_avg_pool2d.default", "aten.adaptive_avg_pool3d.default")
def adaptive_avg_pool(build: Builder, input: Value, output_size: Any) -> Value:
    axes = len(output_size)
    if all(size == 1 for size in output_size):
        return build.line(f"global_avg_pool{axes}d", [input])
    return build.line(f"adaptive_avg_pool{axes}d", [input], {"output_size": plain(output_size)})
