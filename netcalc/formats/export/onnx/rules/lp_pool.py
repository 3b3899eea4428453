"""Pooling by norms."""

from __future__ import annotations

from math import prod

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules._wide import wide
from netcalc.formats.export.onnx.rules._windows import batched, pad_attributes, with_batch


@rule("lp_pool1d", "lp_pool2d", "lp_pool3d")
def lp_pool(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return the root of the sum of powers, as LpPool has absolute values and whole powers only."""
    op = call.op

    def apply(x: Tensor) -> list[Tensor]:
        powers = graph.binary("Pow", wide(graph, x), float(op.norm_type))
        mean = graph.node(
            "AveragePool",
            [powers],
            powers.type.with_shape(*with_batch(call, x).shape),
            kernel_shape=list(op.kernel),
            strides=list(op.strides),
            ceil_mode=int(op.ceil_mode),
            count_include_pad=1,
            **pad_attributes(op.padding, op.pads(op.sizes_of(x.type))),
        )
        total = graph.mul(mean, float(prod(op.kernel)))
        return [graph.cast(graph.binary("Pow", total, 1 / float(op.norm_type)), call.output.dtype)]

    return batched(graph, call, apply)
