"""Losses of classes."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call
from netcalc.formats.onnx.operators import operator


def _loss(call: Call, log_probabilities: Value) -> Value:
    """−weight·log p of the class of each element, summed or averaged by the weights; ignored elements count nothing."""
    build, classes = call.build, log_probabilities.type.shape[1]
    target = cast(build, call.x(1), "int64")
    ignored = call.attribute("ignore_index")
    chosen = target if ignored is None else call.line("remainder", [target], {"value": classes})
    if ignored is not None and not (isinstance(classes, int) and 0 <= ignored < classes):
        outside = call.line("equal", [target], {"value": ignored})
        chosen = call.line("masked_fill", [target, outside], {"value": 0})
    place = call.line("unsqueeze", [chosen], {"axis": 1})
    logs = call.line("squeeze", [call.line("gather", [log_probabilities, place], {"axis": 1})], {"axis": 1})
    weight = _weights(call, target, chosen, logs)
    loss = call.line("neg", [logs if weight is None else call.line("mul", [logs, weight])])
    reduction = call.attribute("reduction", "mean")
    if reduction == "none":
        return loss
    if reduction == "mean" and weight is None:
        return call.line("mean", [loss])
    total = call.line("sum", [loss])
    if reduction == "sum" or weight is None:
        return total
    return call.line("div", [total, call.line("sum", [weight])])


def _weights(call: Call, target: Value, chosen: Value, logs: Value) -> Value | None:
    """Return the weight of each element: that of its class, and 0 for ignored ones; None for 1 everywhere."""
    ignored = call.attribute("ignore_index")
    weight = None
    if call.has(2):
        weight = call.line("index", [call.x(2), chosen], {"axis": 0})
    if ignored is None:
        return weight
    kept = cast(call.build, call.line("not_equal", [target], {"value": ignored}), logs.type.dtype)
    return kept if weight is None else call.line("mul", [weight, kept])


@operator("NegativeLogLikelihoodLoss")
def negative_log_likelihood(call: Call) -> Value:
    return _loss(call, call.x())


@operator("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy(call: Call) -> Any:
    logs = call.line("log_softmax", [call.x()], {"axis": 1})
    return [_loss(call, logs), logs]
