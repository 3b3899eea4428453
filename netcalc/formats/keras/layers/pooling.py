"""Pooling: over windows, adaptive, and over all positions."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.lines.windows import plain, unless
from netcalc.formats.graph.model import Value
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.layers import layer
from netcalc.formats.keras.layers._windows import axes_of, padding
from netcalc.formats.keras.operand import Operand


def _attributes(call: Call, axes: int) -> dict[str, Any]:
    kernel = call.sizes("pool_size", axes)
    stride = kernel if call.get("strides") is None else call.sizes("strides", axes)
    return {
        "kernel": plain(kernel),
        "stride": unless(stride, plain(kernel)),
        "padding": padding(call, kernel, stride, [1] * axes),
    }


@layer("MaxPooling1D", "MaxPooling2D", "MaxPooling3D")
def max_pool(call: Call) -> Operand:
    axes = axes_of(call)
    return Operand(call.line(f"max_pool{axes}d", [call.first()], _attributes(call, axes)), True)


@layer("AveragePooling1D", "AveragePooling2D", "AveragePooling3D")
def average_pool(call: Call) -> Operand:
    """Means, in which padding does not count."""
    axes = axes_of(call)
    attributes = _attributes(call, axes)
    if attributes["padding"] is not None:
        attributes["count_include_pad"] = False
    return Operand(call.line(f"avg_pool{axes}d", [call.first()], attributes), True)


@layer(
    *("GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D"),
    *("GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D"),
)
def global_pool(call: Call) -> Operand:
    axes = axes_of(call)
    kind = "avg" if "Average" in call.layer.kind else "max"
    if kind == "avg" and (mask := call.mask()) is not None:
        return _masked_mean(call, mask)
    pooled = call.line(f"global_{kind}_pool{axes}d", [call.first()])
    if call.flag("keepdims"):
        return Operand(pooled, True)
    return Operand(call.line("flatten", [pooled]))


def _masked_mean(call: Call, mask: Value) -> Operand:
    """Return the mean of the steps that are no padding."""
    x, keep = call.last(), call.flag("keepdims")
    steps = call.line("unsqueeze", [cast(call.build, mask, x.type.dtype)], {"axis": -1})
    total = call.line("sum", [call.line("mul", [x, steps])], {"axis": 1, "keepdim": keep or None})
    return Operand(call.line("div", [total, call.line("sum", [steps], {"axis": 1, "keepdim": keep or None})]))


@layer(
    *("AdaptiveAveragePooling1D", "AdaptiveAveragePooling2D", "AdaptiveAveragePooling3D"),
    *("AdaptiveMaxPooling1D", "AdaptiveMaxPooling2D", "AdaptiveMaxPooling3D"),
)
def adaptive_pool(call: Call) -> Operand:
    axes = axes_of(call)
    kind = "avg" if "Average" in call.layer.kind else "max"
    attributes = {"output_size": plain(call.sizes("output_size", axes))}
    return Operand(call.line(f"adaptive_{kind}_pool{axes}d", [call.first()], attributes), True)
