"""Convolutions."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule
from netcalc.formats.export.onnx.rules._windows import batched, filter_attributes, filters, pad_attributes, with_batch

#: Modes of Pad by the modes of padding; "wrap" is there since version 19.
_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@rule("conv1d", "conv2d", "conv3d")
def conv(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return a Conv, behind a Pad if the padding is not of zeros."""
    op = call.op
    weight, bias = filters(call)
    if op.weight_standardization:
        weight = _standardized(graph, weight, op.standardization_eps)

    def apply(x: Tensor) -> list[Tensor]:
        pads = op.pads(op.sizes_of(x.type))
        attributes = pad_attributes(op.padding, pads)
        if op.padding_mode != "zeros" and any(side != 0 for pad in pads for side in pad):
            mode = _MODES[op.padding_mode]
            if mode == "wrap" and graph.opset < 19:
                raise UnsupportedError("circular padding needs opset 19")
            x = graph.pad(x, [(0, 0), (0, 0), *pads], mode=mode)
            attributes = {}
        made = graph.node(
            "Conv",
            [x, weight, bias],
            with_batch(call, x),
            **filter_attributes(op),
            **attributes,
        )
        return [made]

    return batched(graph, call, apply)


def _standardized(graph: Emitter, weight: Tensor, eps: float) -> Tensor:
    """Return filters shifted and scaled to mean 0 and variance 1."""
    axes = range(1, weight.rank)
    centered = graph.sub(weight, graph.mean(weight, axes))
    variance = graph.mean(graph.mul(centered, centered), axes)
    return graph.div(centered, graph.unary("Sqrt", graph.add(variance, eps)))
