"""Tensors joined and split."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule


@rule("concat")
def concat(graph: Emitter, call: Applied) -> Tensor:
    """Return a Concat in the element type of the result."""
    return graph.concat([graph.cast(value, call.output.dtype) for value in call.given], call.op.axis)


@rule("stack")
def stack(graph: Emitter, call: Applied) -> Tensor:
    """Return a Concat along a new axis."""
    parts = [graph.cast(value, call.output.dtype) for value in call.given]
    return graph.stack(parts, call.op.axis % call.output.rank)


@rule("split", "chunk")
def split(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return a Split into parts of the sizes of the results."""
    axis = call.op.axis % call.x.rank
    if len(call.outputs) == 1:
        return [call.x]
    return graph.split(call.x, axis, [type_.shape[axis] for type_ in call.outputs])
