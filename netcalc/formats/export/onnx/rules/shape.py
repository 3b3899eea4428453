"""Changes of shape."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule


@rule("reshape", "unflatten")
def reshape(graph: Emitter, call: Applied) -> Tensor:
    """Return the elements in another shape."""
    return graph.reshape(call.x, call.output.shape)


@rule("flatten")
def flatten(graph: Emitter, call: Applied) -> Tensor:
    """Return the input with axes joined: all behind the first as a Flatten."""
    x = call.x
    if x.rank > 2 and call.op.start_axis % x.rank == 1 and call.op.end_axis % x.rank == x.rank - 1:
        return graph.node("Flatten", [x], call.output, axis=1)
    return graph.reshape(x, call.output.shape)
