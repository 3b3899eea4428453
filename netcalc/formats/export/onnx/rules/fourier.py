"""Fourier transforms of real numbers."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules._wide import wide

#: First version where the axis is an input.
_AXIS_GIVEN = 20


@rule("fourier")
def fourier(graph: Emitter, call: Applied) -> Tensor:
    """Return a DFT for each axis, of numbers whose real and imaginary parts are the last axis, and the real parts."""
    x = wide(graph, call.x)
    rank = x.rank
    parts = graph.unsqueeze(x, [rank])
    for axis in call.op.axis:
        parts = _transformed(graph, parts, axis % rank)
    real = graph.squeeze(graph.slice(parts, rank, 0, 1), [rank])
    return graph.cast(real, call.output.dtype)


def _transformed(graph: Emitter, parts: Tensor, axis: int) -> Tensor:
    type_ = parts.type.with_shape(*parts.shape[:-1], 2)
    inputs: list[Any] = [parts]
    if graph.opset < _AXIS_GIVEN:
        return graph.node("DFT", inputs, type_, axis=axis)
    return graph.node("DFT", [parts, None, graph.scalar(axis, "int64")], type_)
