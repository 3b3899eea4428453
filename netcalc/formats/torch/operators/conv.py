"""Convolutions."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.weights import weighted
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._windows import convolution_windows
from netcalc.formats.torch.operators.conv_transpose import convolution_transpose


@operator(
    *("aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default"),
    *("aten.conv1d.padding", "aten.conv2d.padding", "aten.conv3d.padding"),
)
def convolution(build: Builder, input: Value, weight: Value, bias: Value | None, **windows: Any) -> Value:
    attributes = convolution_windows(weight, weight.type.shape[0], **windows)
    return weighted(build, f"conv{len(weight.type.shape) - 2}d", input, weight, bias, attributes)


@operator("aten.convolution.default", "aten._convolution.default")
def general(build: Builder, transposed: bool, output_padding: Any, **layer: Any) -> Value:
    if transposed:
        return convolution_transpose(build, output_padding=output_padding, **layer)
    return convolution(build, **layer)
