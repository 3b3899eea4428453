"""Average pooling."""

from __future__ import annotations

from math import prod

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule
from netcalc.formats.export.onnx.rules._windows import batched, pad_attributes, with_batch


@rule("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return an AveragePool; with a divisor of its own, the mean times the elements of a window over the divisor."""
    op = call.op
    divisor = op.divisor_override
    if divisor is not None and op.ceil_mode:
        raise UnsupportedError("a divisor_override with ceil_mode has no operator of ONNX")

    def apply(x: Tensor) -> list[Tensor]:
        made = graph.node(
            "AveragePool",
            [x],
            with_batch(call, x),
            kernel_shape=list(op.kernel),
            strides=list(op.strides),
            ceil_mode=int(op.ceil_mode),
            count_include_pad=int(op.count_include_pad or divisor is not None),
            **pad_attributes(op.padding, op.pads(op.sizes_of(x.type))),
        )
        return [made if divisor is None else graph.mul(made, prod(op.kernel) / divisor)]

    return batched(graph, call, apply)
