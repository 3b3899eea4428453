"""Maximum pooling."""

from __future__ import annotations

from netcalc.dims import product
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules._windows import batched, pad_attributes, with_batch


@rule("max_pool1d", "max_pool2d", "max_pool3d")
def max_pool(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return a MaxPool; places of maxima count within a channel here, and in the whole tensor there."""
    op = call.op

    def apply(x: Tensor) -> list[Tensor]:
        types = [with_batch(call, x, index) for index in range(len(call.outputs))]
        largest, *places = graph.nodes_of(
            "MaxPool",
            [x],
            types,
            kernel_shape=list(op.kernel),
            strides=list(op.strides),
            dilations=list(op.dilation),
            ceil_mode=int(op.ceil_mode),
            **pad_attributes(op.padding, op.pads(op.sizes_of(x.type))),
        )
        positions = product(op.sizes_of(x.type))
        return [largest, *(graph.binary("Mod", place, graph.size(positions)) for place in places)]

    return batched(graph, call, apply)
