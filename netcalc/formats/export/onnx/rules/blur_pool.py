"""Pooling by fixed filters."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule
from netcalc.formats.export.onnx.rules._wide import wide
from netcalc.formats.export.onnx.rules._windows import batched, with_batch

_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap", "constant": None}
#: First version of Pad that continues an image with its other end.
_WRAPS = 19


@rule("blur_pool2d")
def blur_pool2d(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return a Pad, and a Conv of every channel by itself."""
    op = call.op
    mode = _MODES[op.pad_mode]
    if mode == "wrap" and graph.opset < _WRAPS:
        raise UnsupportedError(f"circular padding needs opset {_WRAPS}")

    def apply(x: Tensor) -> list[Tensor]:
        channels = int(x.shape[1])
        filters = graph.expand(wide(graph, call.param("filt")), (channels, 1, op.filt_size, op.filt_size))
        padded = graph.pad(wide(graph, x), [(0, 0), (0, 0), *op.pads()], mode=mode)
        type_ = padded.type.with_shape(*with_batch(call, x).shape)
        attributes = {"kernel_shape": [op.filt_size] * 2, "strides": list(op.stride), "group": channels}
        return [graph.cast(graph.node("Conv", [padded, filters], type_, **attributes), call.output.dtype)]

    return batched(graph, call, apply)
