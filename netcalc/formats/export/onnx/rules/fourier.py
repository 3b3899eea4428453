"""Fourier transforms."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule
from netcalc.formats.export.onnx.rules._wide import wide

#: First version in which the axis is an input.
_AXIS = 20


@rule("fourier")
def fourier(graph: Emitter, call: Applied) -> Tensor:
    """Return the real part of a DFT along each axis, of numbers as pairs of their parts."""
    if graph.opset < _AXIS:
        raise UnsupportedError(f"transforms need opset {_AXIS}")
    x = wide(graph, call.x)
    pairs = graph.unsqueeze(x, [x.rank])
    for axis in call.op.axis:
        place = graph.scalar(axis % x.rank, "int64")
        pairs = graph.node("DFT", [pairs, None, place], x.type.with_shape(*x.shape, 2))
    real = graph.squeeze(graph.slice(pairs, -1, 0, 1), [x.rank])
    return graph.cast(real, call.output.dtype)
