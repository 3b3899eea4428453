"""Normalization by running statistics, and of each channel of a sample."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules._wide import ones


@rule("batch_norm")
def batch_norm(graph: Emitter, call: Applied) -> Tensor:
    """Return a BatchNormalization; with statistics of the batch its arithmetic."""
    if _given(call, "running_mean") is not None:
        return _by_statistics(graph, call)
    x = call.x
    axes = [axis for axis in range(x.rank) if axis != 1]
    centered = graph.sub(x, graph.mean(x, axes))
    variance = graph.mean(graph.mul(centered, centered), axes)
    made = graph.div(centered, graph.unary("Sqrt", graph.add(variance, call.op.eps)))
    for operator, name in (("Mul", "weight"), ("Add", "bias")):
        value = _given(call, name)
        if value is not None:
            made = graph.binary(operator, made, graph.reshape(value, (x.shape[1], *(1,) * (x.rank - 2))))
    return made


@rule("frozen_batch_norm")
def frozen_batch_norm(graph: Emitter, call: Applied) -> Tensor:
    """Return a BatchNormalization with fixed statistics."""
    return _by_statistics(graph, call)


@rule("instance_norm")
def instance_norm(graph: Emitter, call: Applied) -> Tensor:
    """Return an InstanceNormalization; by running statistics a BatchNormalization."""
    if _given(call, "running_mean") is not None:
        return _by_statistics(graph, call)
    weight, bias = _affine(graph, call)
    return graph.node("InstanceNormalization", [call.x, weight, bias], call.output, epsilon=float(call.op.eps))


def _by_statistics(graph: Emitter, call: Applied) -> Tensor:
    statistics = [_given(call, name) for name in ("running_mean", "running_var")]
    inputs = [call.x, *_affine(graph, call), *statistics]
    return graph.node("BatchNormalization", inputs, call.output, epsilon=float(call.op.eps))


def _affine(graph: Emitter, call: Applied) -> tuple[Tensor, Tensor]:
    """Return weight and bias of each channel: ones and zeros if there are none."""
    channels = int(call.x.shape[1])
    weight, bias = _given(call, "weight"), _given(call, "bias")
    return (
        ones(graph, call.x, channels) if weight is None else weight,
        ones(graph, call.x, channels, 0.0) if bias is None else bias,
    )


def _given(call: Applied, name: str) -> Tensor | None:
    """Return a tensor that is an input if it is one, or the parameter; None if there is neither."""
    return call.named(name) or (call.param(name) if call.has(name) else None)
