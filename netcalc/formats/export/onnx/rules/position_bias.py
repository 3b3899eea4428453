"""Biases by the distance of positions."""

from __future__ import annotations

from math import isqrt

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules._masks import ahead
from netcalc.tensor_type import TensorType


@rule("relative_position_bias", "relative_position_lookup")
def looked_up(graph: Emitter, call: Applied) -> Tensor:
    """Return the row of the table for each pair of positions, heads first."""
    table = call.x if call.inputs else call.param("relative_position_bias_table")
    index = call.param("relative_position_index")
    places = isqrt(int(index.shape[0]))
    rows = graph.reshape(graph.gather(table, index, 0), (places, places, table.shape[-1]))
    return graph.transpose(rows, [2, 0, 1])


@rule("relative_coordinates")
def relative_coordinates(graph: Emitter, call: Applied) -> Tensor:
    """Return the table of coordinates."""
    return call.param("relative_coords_table")


@rule("t5_position_bias")
def t5_position_bias(graph: Emitter, call: Applied) -> Tensor:
    """Return the rows of the buckets of distances, which are the same from the largest distance on."""
    import numpy as np

    from netcalc.numerics.kernels.position_bias import buckets_of

    op, weight = call.op, call.param("weight")
    far = op.max_distance
    buckets = [int(bucket) for bucket in buckets_of(op, np.arange(-far, far + 1))]
    offsets = graph.add(graph.clip(_offsets(graph, call), -far, far), far)
    table = graph.constant(buckets, TensorType((2 * far + 1,), "int64"))
    rows = graph.gather(weight, graph.gather(table, offsets, 0), 0)
    made = graph.unsqueeze(graph.transpose(rows, [2, 0, 1]), [0])
    return graph.cast(made, call.output.dtype)


@rule("alibi_bias")
def alibi_bias(graph: Emitter, call: Applied) -> Tensor:
    """Return distances times the slope of each head."""
    from netcalc.numerics.kernels.position_bias import slopes_of

    op = call.op
    offsets = _offsets(graph, call)
    slopes = slopes_of(op.num_heads, op.max_bias)
    sign = -1.0 if op.per_query else 1.0
    factors = graph.constant([sign * slope for slope in slopes], TensorType((len(slopes), 1, 1), "float64"))
    distances = graph.unary("Abs", offsets) if op.per_query else graph.unsqueeze(graph.range(0, offsets.shape[1]), [0])
    made = graph.mul(factors, graph.cast(distances, "float64"))
    return graph.cast(made, call.output.dtype)


def _offsets(graph: Emitter, call: Applied) -> Tensor:
    """Return the distance of each key from its query, as (queries, keys)."""
    op = call.op
    queries = call.x.shape[-2]
    key = call.inputs[1] if len(call.inputs) > 1 else None
    keys = op.offset + queries if key is None else key.shape[-2]
    return ahead(graph, queries, keys, keys - queries if op.alignment == "lower_right" else op.offset)
