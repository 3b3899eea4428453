"""Axes that are added, removed and put in another order."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule


@rule("squeeze")
def squeeze(graph: Emitter, call: Applied) -> Tensor:
    """Return the input without axes of size 1: those that are named and have it, or all."""
    x, axes = call.x, call.op.axis
    named = range(x.rank) if axes is None else [axis % x.rank for axis in axes] if x.rank else []
    return graph.squeeze(x, [axis for axis in named if x.shape[axis] == 1])


@rule("unsqueeze")
def unsqueeze(graph: Emitter, call: Applied) -> Tensor:
    """Return the input with a further axis."""
    return graph.unsqueeze(call.x, [call.op.axis])


@rule("permute")
def permute(graph: Emitter, call: Applied) -> Tensor:
    """Return the input with its axes in another order."""
    return graph.transpose(call.x, [axis % call.x.rank for axis in call.op.axes])


@rule("transpose")
def transpose(graph: Emitter, call: Applied) -> Tensor:
    """Return the input with two axes swapped."""
    return graph.swapped(call.x, *call.op.axes)
