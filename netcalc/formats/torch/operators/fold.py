"""Windows of images as columns, and columns as images."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.windows import plain, unless
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator


@operator("aten.im2col.default")
def im2col(build: Builder, input: Value, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Value:
    return build.line("unfold", [input], _columns(kernel_size, dilation, padding, stride))


@operator("aten.col2im.default")
def col2im(
    build: Builder, input: Value, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> Value:
    attributes = {"output_size": plain(output_size), **_columns(kernel_size, dilation, padding, stride)}
    return build.line("fold", [input], attributes)


def _columns(kernel: Any, dilation: Any, padding: Any, stride: Any) -> dict[str, Any]:
    return {
        "kernel": plain(kernel),
        "dilation": unless(dilation, 1),
        "padding": unless(padding, 0),
        "stride": unless(stride, 1),
    }
