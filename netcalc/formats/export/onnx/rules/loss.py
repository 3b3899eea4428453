"""Losses of each element."""

from __future__ import annotations

from typing import Any

from netcalc.dims import product
from netcalc.dtypes import promote
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules._wide import wide


def reduced(graph: Emitter, op: Any, losses: Tensor, divisor: Tensor) -> Tensor:
    """Return the losses as they are, their sum, or their sum over a divisor."""
    if op.reduction == "none":
        return losses
    total = graph.sum(losses, range(losses.rank), keep=False)
    return total if op.reduction == "sum" else graph.div(total, divisor)


def alike(graph: Emitter, call: Applied) -> tuple[Tensor, Tensor]:
    """Return input and target in the element type of the arithmetic."""
    x, target = call.x, call.required(1)
    dtype = promote(x.type.dtype, target.type.dtype)
    return wide(graph, graph.cast(x, dtype)), wide(graph, graph.cast(target, dtype))


def _weighted(graph: Emitter, call: Applied, losses: Tensor) -> Tensor:
    weight = call.named("weight")
    return losses if weight is None else graph.mul(losses, graph.cast(weight, losses.dtype))


def _ended(graph: Emitter, call: Applied, losses: Tensor) -> Tensor:
    """Return the losses with weights, reduced by the number of elements."""
    losses = _weighted(graph, call, losses)
    divisor = graph.size(product(losses.shape), losses.dtype)
    return graph.cast(reduced(graph, call.op, losses, divisor), call.output.dtype)


@rule("mse_loss", "l1_loss")
def distance(graph: Emitter, call: Applied) -> Tensor:
    """Return squares or absolute values of the difference; a mean divides by the sum of the weights, if there are."""
    difference = graph.sub(*alike(graph, call))
    losses = graph.mul(difference, difference) if call.op.name == "mse_loss" else graph.unary("Abs", difference)
    weight = call.named("weight")
    if weight is None:
        return _ended(graph, call, losses)
    total = graph.sum(graph.cast(weight, losses.dtype), range(weight.rank), keep=False)
    return graph.cast(reduced(graph, call.op, _weighted(graph, call, losses), total), call.output.dtype)


@rule("binary_cross_entropy")
def binary_cross_entropy(graph: Emitter, call: Applied) -> Tensor:
    """Return −(t·ln x + (1 − t)·ln(1 − x)), whose logarithms are at least −100."""
    x, target = alike(graph, call)
    ones = graph.scalar(1.0, x)
    yes, no = (graph.clip(graph.unary("Log", part), -100.0, None) for part in (x, graph.sub(ones, x)))
    return _ended(graph, call, graph.sub(graph.mul(graph.sub(target, ones), no), graph.mul(target, yes)))


@rule("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(graph: Emitter, call: Applied) -> Tensor:
    """Return (1 − t)·x + softplus(−x), whose second part has the weight of the positive part."""
    x, target = alike(graph, call)
    other = graph.sub(graph.scalar(1.0, x), target)
    softplus = graph.unary("Softplus", graph.unary("Neg", x))
    positive, listed = call.named("pos_weight"), call.op.pos_weight
    if listed is not None:
        shape = (len(listed),) if len(listed) > 1 else ()
        positive = graph.constant(list(map(float, listed)), x.type.with_shape(*shape))
    if positive is not None:
        factor = graph.add(other, graph.mul(graph.cast(positive, x.dtype), target))
        softplus = graph.mul(softplus, factor)
    return _ended(graph, call, graph.add(graph.mul(other, x), softplus))


@rule("kl_div")
def kl_div(graph: Emitter, call: Applied) -> Tensor:
    """Return t·(ln t − x), which is zero where t is."""
    x, target = alike(graph, call)
    if call.op.log_target:
        losses = graph.mul(graph.unary("Exp", target), graph.sub(target, x))
    else:
        is_zero = graph.compare("Equal", target, 0.0)
        log = graph.unary("Log", graph.where(is_zero, graph.scalar(1.0, target), target))
        losses = graph.sub(graph.mul(target, log), graph.mul(target, x))
    if call.op.reduction != "batchmean":
        return _ended(graph, call, losses)
    divisor = graph.size(x.shape[0] if x.rank else 1, x.dtype)
    return graph.cast(reduced(graph, call.op, losses, divisor), call.output.dtype)
