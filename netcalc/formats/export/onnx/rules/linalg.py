"""Matrices."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule


@rule("det")
def det(graph: Emitter, call: Applied) -> Tensor:
    """Return a Det."""
    return graph.node("Det", [call.x], call.output)
