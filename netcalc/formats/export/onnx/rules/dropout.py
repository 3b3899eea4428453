"""Dropout, which is nothing in inference."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule


@rule("dropout", "stochastic_depth")
def dropout(graph: Emitter, call: Applied) -> Tensor:
    """Return the input."""
    return call.x
