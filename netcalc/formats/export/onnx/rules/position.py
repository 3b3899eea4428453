"""Positions that are added to a sequence."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule


@rule("sinusoidal_positions", "learned_positions")
def positions(graph: Emitter, call: Applied) -> Tensor:
    """Return the rows of the table from the offset on, added to the input or alone."""
    (name,) = call.types
    table, offset, length = call.param(name), call.op.offset, call.x.shape[-2]
    rows = table
    if offset != 0 or length != table.shape[0]:
        rows = graph.slice(table, 0, offset, offset + length)
    rows = graph.cast(rows, call.output.dtype)
    return graph.add(call.x, rows) if call.op.add else rows
