"""Scaled dot-product attention, composed of products, masks and a softmax."""

from __future__ import annotations

import math
from typing import Any

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules._masks import ahead, both
from netcalc.formats.export.onnx.rules._wide import wide
from netcalc.tensor_type import TensorType


@rule("scaled_dot_product_attention")
def attention(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return softmax(Q·Kᵀ·scale + mask)·V, and the weights if they are asked for."""
    op = call.op
    query, key, value = (wide(graph, call.required(index)) for index in range(3))
    if op.enable_gqa:
        key, value = (_grouped(graph, x, query.shape[-3]) for x in (key, value))
    scores = graph.matmul(query, graph.swapped(key))
    if op.scale != 1:
        scores = graph.mul(scores, 1 / math.sqrt(query.shape[-1]) if op.scale is None else float(op.scale))
    if op.softcap is not None:
        scores = graph.mul(graph.unary("Tanh", graph.div(scores, float(op.softcap))), float(op.softcap))
    scores, hides_all = _masked(graph, call, scores, max(query.rank, key.rank))
    weights = _weights(graph, scores, call.named("sinks"))
    if hides_all:
        weights = graph.where(_is_nan(graph, weights), graph.scalar(0.0, weights), weights)
    results = [graph.matmul(weights, value), weights][: len(call.outputs)]
    return [graph.cast(result, call.output.dtype) for result in results]


def _grouped(graph: Emitter, x: Tensor, heads: Any) -> Tensor:
    """Return keys or values with every head repeated, as often as query heads share it."""
    own = x.shape[-3]
    if own == heads:
        return x
    wider = graph.unsqueeze(x, [x.rank - 2])
    wider = graph.expand(wider, (*x.shape[:-2], heads // own, *x.shape[-2:]))
    return graph.reshape(wider, (*x.shape[:-3], heads, *x.shape[-2:]))


def _masked(graph: Emitter, call: Applied, scores: Tensor, rank: int) -> tuple[Tensor, bool]:
    """Return the scores with those of hidden pairs at −∞, and whether all keys of a query may be hidden."""
    mask, padding = call.named("attn_mask"), call.named("key_padding_mask")
    lowest = None
    if mask is not None and mask.dtype == "bool":
        lowest = graph.scalar(-math.inf, scores)
        scores = graph.where(mask, scores, lowest)
    elif mask is not None:
        scores = graph.add(scores, graph.cast(mask, scores.dtype))
    if padding is not None:
        wider = (
            graph.unsqueeze(padding, [0]) if rank == 2 else graph.unsqueeze(padding, [padding.rank - 1, padding.rank])
        )
        scores = graph.where(wider, graph.scalar(-math.inf, scores), scores)
    visible = _visible(graph, call.op, scores)
    if visible is not None:
        scores = graph.where(visible, scores, lowest or graph.scalar(-math.inf, scores))
    op = call.op
    partial = op.window is not None or op.blocks is not None or op.alignment == "lower_right"
    return scores, mask is not None or padding is not None or (visible is not None and partial)


def _visible(graph: Emitter, op: Any, scores: Tensor) -> Tensor | None:
    """Return the mask (queries, keys) of the pairs that the fixed pattern keeps; None if it keeps all."""
    if not op.is_patterned:
        return None
    queries, keys = scores.shape[-2:]
    shift = keys - queries if op.alignment == "lower_right" else 0
    distance = ahead(graph, queries, keys, shift)
    masks = []
    if op.window is not None:
        left, right = op.window
        within = [] if left is None else [graph.compare("GreaterOrEqual", distance, graph.size(-left))]
        within += [] if right is None else [graph.compare("LessOrEqual", distance, graph.size(right))]
        if within and op.global_tokens:
            tokens = graph.scalar(op.global_tokens, "int64")
            rows = graph.unsqueeze(graph.compare("Less", graph.range(shift, queries + shift), tokens), [1])
            columns = graph.compare("Less", graph.range(0, keys), tokens)
            within = [graph.binary("Or", both(graph, within), graph.binary("Or", rows, columns))]
        masks += within
    if op.causal:
        masks.append(graph.compare("LessOrEqual", distance, graph.scalar(0, "int64")))
    if op.blocks is not None:
        masks.append(_blocks(graph, op, int(queries), int(keys)))
    return both(graph, masks) if masks else None


def _blocks(graph: Emitter, op: Any, queries: int, keys: int) -> Tensor:
    """Return the mask of the pairs in chosen blocks."""
    size = op.blocks.size
    rows, columns = queries // size, keys // size
    chosen = {*op.blocks.chosen(rows, columns, lower_right=op.alignment == "lower_right")}
    listed = [[(row, column) in chosen for column in range(columns)] for row in range(rows)]
    mask = graph.constant(listed, TensorType((rows, columns), "bool"))
    wider = graph.expand(graph.unsqueeze(mask, [1, 3]), (rows, size, columns, size))
    return graph.reshape(wider, (queries, keys))


def _weights(graph: Emitter, scores: Tensor, sinks: Tensor | None) -> Tensor:
    """Return the softmax of the scores, in which a sink of each head takes part."""
    if sinks is None:
        return graph.softmax(scores, -1)
    column = graph.reshape(graph.cast(sinks, scores.dtype), (sinks.shape[0], 1, 1))
    column = graph.expand(column, (*scores.shape[:-1], 1))
    shares = graph.softmax(graph.concat([scores, column], -1), -1)
    return graph.slice(shares, -1, 0, scores.shape[-1])


def _is_nan(graph: Emitter, x: Tensor) -> Tensor:
    return graph.node("IsNaN", [x], x.type.with_dtype("bool"))
