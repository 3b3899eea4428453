"""Softmax."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule

_OPERATORS = {"softmax": "Softmax", "log_softmax": "LogSoftmax"}


@rule(*_OPERATORS)
def softmax(graph: Emitter, call: Applied) -> Tensor:
    """Return a Softmax or a LogSoftmax over an axis."""
    x = call.x
    if not x.rank:
        made = graph.unary(_OPERATORS[call.op.name], graph.unsqueeze(x, [0]), axis=0)
        return graph.squeeze(made, [0])
    return graph.unary(_OPERATORS[call.op.name], x, axis=call.op.axis % x.rank)
