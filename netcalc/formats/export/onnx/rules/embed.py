"""Embeddings."""

from __future__ import annotations

import math
from typing import Any

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule
from netcalc.formats.export.onnx.rules._wide import wide
from netcalc.formats.export.onnx.rules.reduce import p_norm
from netcalc.tensor_type import TensorType


@rule("embedding")
def embedding(graph: Emitter, call: Applied) -> Tensor:
    """Return a Gather of rows, times the scale if there is one."""
    rows = _rows(graph, call)
    if call.op.scale is None:
        return rows
    return graph.cast(graph.mul(wide(graph, rows), float(call.op.scale)), rows.dtype)


def _rows(graph: Emitter, call: Applied) -> Tensor:
    """Return the rows of the ids, scaled to a norm of at most ``max_norm``."""
    op, rows = call.op, graph.gather(call.param("weight"), call.x, 0)
    if op.max_norm is None:
        return rows
    inner = wide(graph, rows)
    length = p_norm(graph, inner, float(op.norm_type), [-1 % rows.rank], keep=True)
    smaller = graph.mul(inner, graph.div(graph.scalar(op.max_norm, inner), graph.add(length, 1e-7)))
    is_long = graph.compare("Greater", length, float(op.max_norm))
    return graph.cast(graph.where(is_long, smaller, inner), rows.dtype)


@rule("embedding_bag")
def embedding_bag(graph: Emitter, call: Applied) -> Tensor:
    """Return the reduction of the rows of each bag, for bags of one size."""
    op, ids = call.op, call.x
    if call.named("offsets") is not None:
        raise UnsupportedError("bags that begin at offsets have no operator of ONNX")
    rows = wide(graph, _rows(graph, call))
    weights = call.named("per_sample_weights")
    if weights is not None:
        rows = graph.mul(rows, graph.unsqueeze(wide(graph, weights), [2]))
    counted = None
    if op.padding_idx is not None:
        padding = graph.scalar(op.padding_idx % op.num_embeddings, ids)
        counted = graph.unary("Not", graph.compare("Equal", ids, padding))
        least = graph.scalar(-math.inf if op.mode == "max" else 0.0, rows)
        rows = graph.where(graph.unsqueeze(counted, [2]), rows, least)
    made = _pooled(graph, op, rows, counted)
    return graph.cast(made, call.output.dtype)


def _pooled(graph: Emitter, op: Any, rows: Tensor, counted: Tensor | None) -> Tensor:
    if op.mode == "max":
        made = graph.reduce("ReduceMax", rows, [1])
        if counted is None:
            return made
        is_empty = graph.compare("Equal", made, -math.inf)
        return graph.where(is_empty, graph.scalar(0.0, made), made)
    if counted is None:
        return graph.reduce("ReduceMean" if op.mode == "mean" else "ReduceSum", rows, [1])
    total = graph.reduce("ReduceSum", rows, [1])
    if op.mode == "sum":
        return total
    members = graph.sum(graph.cast(counted, rows.dtype), [1], keep=True)
    return graph.div(total, graph.binary("Max", members, 1.0))


@rule("one_hot")
def one_hot(graph: Emitter, call: Applied) -> Tensor:
    """Return a OneHot along a last axis."""
    dtype = call.output.dtype
    inner = "int32" if dtype == "bool" else dtype
    values = graph.constant([0, 1], TensorType((2,), inner))
    made = graph.node(
        "OneHot", [call.x, graph.size(call.op.num_classes), values], call.output.with_dtype(inner), axis=-1
    )
    return graph.cast(made, dtype)
