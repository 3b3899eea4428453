"""Losses with a target class for each position."""

from __future__ import annotations

import math

from netcalc.dims import product
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules._wide import wide
from netcalc.formats.export.onnx.rules.loss import reduced


@rule("nll_loss")
def nll_loss(graph: Emitter, call: Applied) -> Tensor:
    """Return the negative elements of the classes."""
    return graph.cast(_at_class(graph, call, wide(graph, call.x)), call.output.dtype)


@rule("cross_entropy")
def cross_entropy(graph: Emitter, call: Applied) -> Tensor:
    """Return a LogSoftmax, and the loss of classes or of probabilities."""
    x = wide(graph, call.x)
    logs = graph.unary("LogSoftmax", x, axis=_axis(x))
    measure = _by_probability if call.required(1).type.is_float else _at_class
    return graph.cast(measure(graph, call, logs), call.output.dtype)


def _axis(x: Tensor) -> int:
    """Return the axis of classes: 1, or 0 for a single sample."""
    return 1 if x.rank > 1 else 0


def _weight(graph: Emitter, call: Applied, x: Tensor) -> Tensor | None:
    weight = call.named("weight")
    return None if weight is None else graph.cast(weight, x.dtype)


def _at_class(graph: Emitter, call: Applied, x: Tensor) -> Tensor:
    """Return the loss of log-probabilities for target classes; ignored positions have none and no weight."""
    op, axis, weight = call.op, _axis(x), _weight(graph, call, x)
    target = graph.cast(call.required(1), "int64")
    is_ignored = graph.compare("Equal", target, graph.scalar(op.ignore_index, "int64"))
    classes = graph.where(is_ignored, graph.scalar(0, "int64"), target)
    found = graph.gather_elements(x, graph.unsqueeze(classes, [axis]), axis)
    losses = graph.unary("Neg", graph.squeeze(found, [axis]))
    each = graph.zeros(losses.shape, x.dtype, 1.0) if weight is None else graph.gather(weight, classes, 0)
    if weight is not None:
        losses = graph.mul(losses, each)
    smoothing = float(getattr(op, "label_smoothing", 0.0))
    if smoothing:
        share = graph.mul(_over_classes(graph, x, weight), smoothing / int(x.shape[axis]))
        losses = graph.sub(graph.mul(losses, 1 - smoothing), share)
    nothing = graph.scalar(0.0, x)
    losses = graph.where(is_ignored, nothing, losses)
    counted = graph.where(is_ignored, nothing, each)
    total = graph.sum(counted, range(counted.rank), keep=False)
    if smoothing:  # PyTorch adds two quotients by the total, of which the first is 0/0 where there is no weight
        total = graph.where(graph.compare("Equal", total, 0.0), graph.scalar(math.nan, total), total)
    return reduced(graph, op, losses, total)


def _by_probability(graph: Emitter, call: Applied, x: Tensor) -> Tensor:
    """Return the loss of log-probabilities for target probabilities."""
    smoothing, target = float(call.op.label_smoothing), graph.cast(call.required(1), x.dtype)
    if smoothing:
        target = graph.add(graph.mul(target, 1 - smoothing), smoothing / int(x.shape[_axis(x)]))
    made = _over_classes(graph, graph.mul(x, target), _weight(graph, call, x))
    losses = graph.unary("Neg", made)
    return reduced(graph, call.op, losses, graph.size(product(losses.shape), x.dtype))


def _over_classes(graph: Emitter, x: Tensor, weight: Tensor | None) -> Tensor:
    """Return the sum over the classes, each by its weight."""
    axis = _axis(x)
    if weight is not None:
        x = graph.mul(x, graph.reshape(weight, (*weight.shape, *(1,) * (x.rank - axis - 1))))
    return graph.sum(x, [axis], keep=False)
