"""Convolutions and transposed convolutions."""

from __future__ import annotations

from typing import Any

from netcalc.dims import Dim
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators.linear import plain, unless, weighted


@operator(
    "aten.conv1d.default",
    "aten.conv2d.default",
    "aten.conv3d.default",
    "aten.conv1d.padding",
    "aten.conv2d.padding",
    "aten.conv3d.padding",
)
def convolution(
    build: Builder,
    input: Value,
    weight: Value,
    bias: Value | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Value:
    attributes = _windows(weight, weight.type.shape[0], stride, padding, dilation, groups)
    return weighted(build, f"conv{len(weight.type.shape) - 2}d", input, weight, bias, attributes)


@operator("aten.conv_transpose1d.default", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input")
def convolution_transpose(
    build: Builder,
    input: Value,
    weight: Value,
    bias: Value | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Value:
    attributes = _windows(weight, weight.type.shape[1] * groups, stride, padding, dilation, groups)
    attributes["output_padding"] = unless(output_padding, 0)
    return weighted(build, f"conv_transpose{len(weight.type.shape) - 2}d", input, weight, bias, attributes)


@operator("aten.convolution.default", "aten._convolution.default")
def general(
    build: Builder,
    input: Value,
    weight: Value,
    bias: Value | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    **backend: bool,
) -> Value:
    if transposed:
        return convolution_transpose(build, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return convolution(build, input, weight, bias, stride, padding, dilation, groups)


def _windows(weight: Value, out: Dim, stride: Any, padding: Any, dilation: Any, groups: int) -> dict[str, Any]:
    """Return the attributes that all convolutions have."""
    return {
        "out": out,
        "kernel": plain(weight.type.shape[2:]),
        "stride": unless(stride, 1),
        "padding": None if padding == "valid" else unless(padding, 0),
        "dilation": unless(dilation, 1),
        "groups": None if groups == 1 else groups,
    }
