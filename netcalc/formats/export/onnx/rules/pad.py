"""Padding."""

from __future__ import annotations

from netcalc.dims import maximum, minimum
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule

#: Modes of Pad; "wrap" is there since version 19.
_MODES = {"constant": None, "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@rule("pad")
def pad(graph: Emitter, call: Applied) -> Tensor:
    """Return a Pad, behind a Slice where elements are removed."""
    x, op = call.x, call.op
    if op.mode == "circular" and graph.opset < 19:
        raise UnsupportedError("circular padding needs opset 19")
    by_axis = op.pads(x.rank)
    added = []
    for axis in range(x.rank):
        before, after = by_axis.get(axis, (0, 0))
        start, stop = -minimum(before, 0), x.shape[axis] + minimum(after, 0)
        if start != 0 or stop != x.shape[axis]:
            x = graph.slice(x, axis, start, stop)
        added.append((maximum(before, 0), maximum(after, 0)))
    return graph.pad(x, added, op.value, _MODES[op.mode])
