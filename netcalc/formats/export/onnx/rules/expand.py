"""Repetition of elements."""

from __future__ import annotations

from netcalc.dims import product
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule


@rule("expand")
def expand(graph: Emitter, call: Applied) -> Tensor:
    """Return an Expand."""
    return graph.expand(call.x, call.output.shape)


@rule("tile")
def tile(graph: Emitter, call: Applied) -> Tensor:
    """Return a Tile, with axes in front if there are more numbers than axes."""
    x, repeats = call.x, call.op.repeats
    rank = max(x.rank, len(repeats))
    x = graph.reshape(x, (*(1,) * (rank - x.rank), *x.shape))
    times = (*(1,) * (rank - len(repeats)), *repeats)
    return graph.node("Tile", [x, graph.shape(times)], call.output)


@rule("repeat_interleave")
def repeat_interleave(graph: Emitter, call: Applied) -> Tensor:
    """Return an Expand along a new axis that is joined to its own; for several numbers the elements by their places."""
    x, axis, repeats = call.x, call.op.axis, call.op.repeats
    if axis is None:
        x, axis = graph.reshape(x, (product(x.shape),)), 0
    axis %= x.rank
    if len(repeats) == 1:
        wider = graph.unsqueeze(x, [axis + 1])
        wider = graph.expand(wider, (*x.shape[: axis + 1], repeats[0], *x.shape[axis + 1 :]))
        return graph.reshape(wider, call.output.shape)
    places = [place for place, times in enumerate(repeats) for _ in range(times)]
    return graph.gather(x, graph.integers(places), axis)
