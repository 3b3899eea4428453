"""Normalization by the statistics of each sample."""

from __future__ import annotations

import sys

from netcalc.dims import product
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules._wide import ones, wide
from netcalc.formats.export.onnx.rules.reduce import p_norm

#: Machine epsilon of the arithmetic.
_EPSILON = {"float32": 2.0**-23, "float64": sys.float_info.epsilon}
#: Versions with operators of their own.
_RMS, _GROUP = 23, 21


def _given(call: Applied, name: str) -> Tensor | None:
    return call.named(name) or (call.param(name) if call.has(name) else None)


@rule("layer_norm")
def layer_norm(graph: Emitter, call: Applied) -> Tensor:
    """Return a LayerNormalization over the last axes."""
    x, count = call.x, call.op.count
    weight = _given(call, "weight")
    if weight is None:
        trailing = x.shape[-count:]
        weight = graph.zeros(trailing, x.dtype, 1.0)
    attributes = {"axis": -count, "epsilon": float(call.op.eps)}
    return graph.node("LayerNormalization", [x, weight, _given(call, "bias")], x.type, **attributes)


@rule("rms_norm")
def rms_norm(graph: Emitter, call: Applied) -> Tensor:
    """Return an RMSNormalization, or its arithmetic in versions without it."""
    x, op = call.x, call.op
    inner, weight = wide(graph, x), _given(call, "weight")
    if weight is not None and op.offset:
        weight = graph.add(wide(graph, weight), op.offset)
    eps = _EPSILON[inner.dtype] if op.eps is None else float(op.eps)
    if graph.opset >= _RMS and weight is not None:
        made = graph.node(
            "RMSNormalization", [inner, graph.cast(weight, inner.dtype)], inner.type, axis=-op.count, epsilon=eps
        )
        return graph.cast(made, x.dtype)
    square = graph.mean(graph.mul(inner, inner), range(x.rank - op.count, x.rank))
    root = graph.unary("Sqrt", graph.add(square, eps))
    made = graph.mul(inner, graph.unary("Reciprocal", root))
    if weight is not None:
        made = graph.mul(made, graph.cast(weight, inner.dtype))
    return graph.cast(made, x.dtype)


@rule("group_norm")
def group_norm(graph: Emitter, call: Applied) -> Tensor:
    """Return a GroupNormalization, or an InstanceNormalization of the groups in versions without it."""
    x, groups, eps = call.x, int(call.op.groups), float(call.op.eps)
    weight, bias = _given(call, "weight"), _given(call, "bias")
    channels = int(x.shape[1])
    if graph.opset >= _GROUP and x.rank > 2:
        affine = [
            ones(graph, x, channels) if weight is None else weight,
            ones(graph, x, channels, 0.0) if bias is None else bias,
        ]
        return graph.node("GroupNormalization", [x, *affine], x.type, num_groups=groups, epsilon=eps)
    rows = graph.reshape(x, (x.shape[0], groups, channels // groups * product(x.shape[2:])))
    affine = [ones(graph, x, groups), ones(graph, x, groups, 0.0)]
    made = graph.reshape(graph.node("InstanceNormalization", [rows, *affine], rows.type, epsilon=eps), x.shape)
    for operator, value in (("Mul", weight), ("Add", bias)):
        if value is not None:
            made = graph.binary(operator, made, graph.reshape(value, (channels, *(1,) * (x.rank - 2))))
    return made


@rule("local_response_norm")
def local_response_norm(graph: Emitter, call: Applied) -> Tensor:
    """Return an LRN; a window of an even number of channels, which is off by one there, as its arithmetic."""
    x, op = call.x, call.op
    if op.size % 2:
        attributes = {"alpha": float(op.alpha), "beta": float(op.beta), "bias": float(op.k)}
        return graph.node("LRN", [x], x.type, size=op.size, **attributes)
    around = [(0, 0), (op.size // 2, (op.size - 1) // 2), *[(0, 0)] * (x.rank - 2)]
    squares = graph.pad(graph.mul(x, x), around)
    channels = int(x.shape[1])
    window = graph.slice(squares, 1, 0, channels)
    for start in range(1, op.size):
        window = graph.add(window, graph.slice(squares, 1, start, start + channels))
    base = graph.add(graph.mul(window, op.alpha / op.size), float(op.k))
    return graph.div(x, graph.binary("Pow", base, float(op.beta)))


@rule("normalize")
def normalize(graph: Emitter, call: Applied) -> Tensor:
    """Return the input over its norm, which is at least eps."""
    inner = wide(graph, call.x)
    length = p_norm(graph, inner, float(call.op.p), call.op.along(inner.rank), keep=True)
    made = graph.div(inner, graph.binary("Max", length, float(call.op.eps)))
    return graph.cast(made, call.x.dtype)
