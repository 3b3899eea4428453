"""Triangles and causal masks."""

from __future__ import annotations

import math

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules._masks import ahead, both


@rule("tril", "triu")
def triangle(graph: Emitter, call: Applied) -> Tensor:
    """Return a Trilu."""
    diagonal = graph.size(call.op.diagonal)
    return graph.node("Trilu", [call.x, diagonal], call.output, upper=int(call.op.name == "triu"))


@rule("causal_mask")
def causal_mask(graph: Emitter, call: Applied) -> Tensor:
    """Return the mask of the keys up to the position of each query."""
    op, (queries, keys) = call.op, call.output.shape
    distance = ahead(graph, queries, keys, keys - queries if op.alignment == "lower_right" else 0)
    masks = [graph.compare("LessOrEqual", distance, graph.scalar(0, "int64"))]
    if op.window is not None:
        masks.append(graph.compare("GreaterOrEqual", distance, graph.scalar(-op.window, "int64")))
    visible = both(graph, masks)
    if op.dtype == "bool":
        return visible
    return graph.where(visible, graph.scalar(0.0, op.dtype), graph.scalar(-math.inf, op.dtype))
