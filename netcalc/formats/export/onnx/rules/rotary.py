"""Rotary position embeddings."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule
from netcalc.formats.export.onnx.rules._wide import wide
from netcalc.tensor_type import TensorType


@rule("rotary_embedding")
def rotary_embedding(graph: Emitter, call: Applied) -> Tensor:
    """Return the pairs of features rotated, with cosines and sines of positions times frequencies."""
    op, x = call.op, call.x
    inner, rotated = wide(graph, x), int(op.rotated(x.type))
    cos, sin = _tables(graph, op, inner, call.inputs[1] if len(call.inputs) > 1 else None, rotated)
    features = int(x.shape[-1])
    parts = [inner] if rotated == features else graph.split(inner, -1, [rotated, features - rotated])
    first, second = _pairs(graph, op, parts[0], rotated)
    turned = (
        graph.sub(graph.mul(first, cos), graph.mul(second, sin)),
        graph.add(graph.mul(second, cos), graph.mul(first, sin)),
    )
    joined = graph.reshape(graph.stack(turned, x.rank), parts[0].shape) if op.interleaved else graph.concat(turned, -1)
    made = graph.concat([joined, *parts[1:]], -1)
    return graph.cast(made, x.dtype)


def _pairs(graph: Emitter, op: Any, x: Tensor, rotated: int) -> list[Tensor]:
    """Return the first and the second feature of each pair."""
    half = rotated // 2
    if not op.interleaved:
        return graph.split(x, -1, [half, half])
    pairs = graph.split(graph.reshape(x, (*x.shape[:-1], half, 2)), -1, [1, 1])
    return [graph.squeeze(part, [-1]) for part in pairs]


def _tables(graph: Emitter, op: Any, x: Tensor, positions: Tensor | None, rotated: int) -> tuple[Tensor, Tensor]:
    """Return the cosines and the sines, (…, positions, pairs)."""
    length = x.shape[-2]
    last = op.offset + length
    known = positions is None and isinstance(last, int)
    if positions is None:
        positions = graph.range(op.offset, last)
    speeds, factor = _frequencies(graph, op, rotated, last if known else None, positions)
    places = graph.cast(positions, "float64")
    if places.rank == 2:  # (batch, length): the axes between are inserted
        places = graph.reshape(places, (places.shape[0], *(1,) * (x.rank - 3), places.shape[1]))
    angles = graph.mul(graph.unsqueeze(places, [places.rank]), speeds)
    tables = [graph.unary(operator, angles) for operator in ("Cos", "Sin")]
    if factor != 1:
        tables = [graph.mul(table, factor) for table in tables]
    cos, sin = (graph.cast(table, x.dtype) for table in tables)
    return cos, sin


def _frequencies(graph: Emitter, op: Any, rotated: int, length: int | None, positions: Tensor) -> tuple[Tensor, float]:
    """Return the angle of each pair per position, and the factor of cosines and sines."""
    from netcalc.numerics.kernels.rotary import frequencies

    def listed(count: int) -> Tensor:
        return graph.constant(speeds_of(count)[0], TensorType((rotated // 2,), "float64"))

    def speeds_of(count: int) -> tuple[list[float], float]:
        speeds, factor = frequencies(op, op.rotary_dim or rotated, count)
        return [float(speed) for speed in speeds], float(factor)

    kind = getattr(op.scaling, "rope_type", None)
    if length is not None or kind not in ("dynamic", "longrope"):
        return listed(length or 1), speeds_of(length or 1)[1]
    if kind == "dynamic":
        raise UnsupportedError("dynamic scaling by positions that are not known")
    original = op.scaling.original_max_position_embeddings
    latest = graph.reduce("ReduceMax", graph.cast(positions, "int64"), range(positions.rank))
    is_long = graph.compare("GreaterOrEqual", latest, graph.scalar(original, "int64"))
    return graph.where(is_long, listed(original + 1), listed(original)), speeds_of(original)[1]
