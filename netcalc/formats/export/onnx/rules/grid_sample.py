"""Samples of images at given places."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule

#: Names of the modes since version 20, and before it.
_MODES = {"bilinear": ("linear", "bilinear"), "nearest": ("nearest", "nearest"), "bicubic": ("cubic", "bicubic")}
_NAMED = 20


@rule("grid_sample")
def grid_sample(graph: Emitter, call: Applied) -> Tensor:
    """Return a GridSample."""
    op, x = call.op, call.x
    if x.rank > 4 and graph.opset < _NAMED:
        raise UnsupportedError(f"volumes need opset {_NAMED}")
    return graph.node(
        "GridSample",
        [x, call.required(1)],
        call.output,
        mode=_MODES[op.mode][graph.opset < _NAMED],
        padding_mode=op.padding_mode,
        align_corners=int(op.align_corners),
    )
