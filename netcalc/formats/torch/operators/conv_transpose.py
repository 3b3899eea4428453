"""Transposed convolutions."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.weights import weighted
from netcalc.formats.graph.lines.windows import unless
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._windows import convolution_windows


@operator("aten.conv_transpose1d.default", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input")
def convolution_transpose(
    build: Builder, input: Value, weight: Value, bias: Value | None, output_padding: Any, groups: int, **windows: Any
) -> Value:
    attributes = convolution_windows(weight, weight.type.shape[1] * groups, groups=groups, **windows)
    attributes["output_padding"] = unless(output_padding, 0)
    return weighted(build, f"conv_transpose{len(weight.type.shape) - 2}d", input, weight, bias, attributes)
