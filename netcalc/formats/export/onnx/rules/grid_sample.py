"""Sampling of an image at computed positions."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule
from netcalc.formats.export.onnx.rules._wide import wide

#: First version that samples volumes, and has these names of modes.
_VOLUMES = 20
_MODES = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}


@rule("grid_sample")
def grid_sample(graph: Emitter, call: Applied) -> Tensor:
    """Return a GridSample."""
    op, x = call.op, wide(graph, call.x)
    if x.rank > 4 and graph.opset < _VOLUMES:
        raise UnsupportedError(f"sampling of volumes needs opset {_VOLUMES}")
    made = graph.node(
        "GridSample",
        [x, wide(graph, call.required(1))],
        x.type.with_shape(*call.output.shape),
        align_corners=int(op.align_corners),
        mode=_MODES[op.mode] if graph.opset >= _VOLUMES else op.mode,
        padding_mode=op.padding_mode,
    )
    return graph.cast(made, call.output.dtype)
