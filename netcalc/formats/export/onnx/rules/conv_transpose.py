"""Transposed convolutions."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules._windows import batched, filter_attributes, filters, pad_attributes, with_batch


@rule("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def conv_transpose(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return a ConvTranspose."""
    op = call.op
    weight, bias = filters(call)

    def apply(x: Tensor) -> list[Tensor]:
        made = graph.node(
            "ConvTranspose",
            [x, weight, bias],
            with_batch(call, x),
            **filter_attributes(op),
            output_padding=list(op.output_padding),
            **pad_attributes(None, op.padding),
        )
        return [made]

    return batched(graph, call, apply)
