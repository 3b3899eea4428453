"""Scans in chunks: state-space duality, and the gated delta rule."""

from __future__ import annotations

import math
from typing import Any

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule
from netcalc.formats.export.onnx.rules._masks import ahead
from netcalc.formats.export.onnx.rules._wide import wide


def every_head(graph: Emitter, x: Tensor, heads: int) -> Tensor:
    """Return (batch, length, groups, features) with the group of each head."""
    batch, length, groups, features = x.shape
    if groups == heads:
        return x
    wider = graph.expand(graph.unsqueeze(x, [3]), (batch, length, groups, heads // groups, features))
    return graph.reshape(wider, (batch, length, heads, features))


def _chunked(graph: Emitter, x: Tensor, chunk: int) -> Tensor:
    """Return (batch, length, heads, features) as (batch, chunks, heads, chunk, features), padded with zeros."""
    batch, length, heads, features = x.shape
    rest = -length % chunk
    padded = graph.pad(x, [(0, 0), (0, rest), (0, 0), (0, 0)])
    return graph.swapped(graph.reshape(padded, (batch, (length + rest) // chunk, chunk, heads, features)), 2, 3)


def _joined(graph: Emitter, y: Tensor, length: int) -> Tensor:
    """Return chunks as (batch, length, heads, features), without the padding."""
    batch, chunks, heads, chunk, features = y.shape
    flat = graph.reshape(graph.swapped(y, 2, 3), (batch, chunks * chunk, heads, features))
    return flat if chunks * chunk == length else graph.slice(flat, 1, 0, length)


def _cumulative(graph: Emitter, x: Tensor, axis: int) -> Tensor:
    return graph.node("CumSum", [x, graph.scalar(axis % x.rank, "int64")], x.type)


def _between(graph: Emitter, upto: Tensor) -> Tensor:
    """Return the exponential of the sum over the places after j up to i, at [i, j]; zero where j is after i."""
    places = upto.shape[-1]
    difference = graph.sub(graph.unsqueeze(upto, [upto.rank]), graph.unsqueeze(upto, [upto.rank - 1]))
    is_lower = graph.compare("LessOrEqual", ahead(graph, places, places, 0), graph.scalar(0, "int64"))
    return graph.unary("Exp", graph.where(is_lower, difference, graph.scalar(-math.inf, difference)))


def _length(call: Applied, port: str) -> int:
    value = call.named(port)
    assert value is not None
    length = value.shape[1]
    if not isinstance(length, int):
        raise UnsupportedError("chunks of a symbolic length")
    return length


def operands(graph: Emitter, call: Applied) -> dict[str, Tensor]:
    """Return the inputs by port in the precision of the arithmetic."""
    ports = {port: wide(graph, value) for port, value in call.op.named(call.inputs).items()}
    dtype = "float64" if any(value.dtype == "float64" for value in ports.values()) else "float32"
    return {port: graph.cast(value, dtype) for port, value in ports.items()}


@rule("ssd_scan")
def ssd_scan(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return the outputs of all positions, and the last state: products within chunks, and states between them."""
    op, length, arrays = call.op, _length(call, "u"), operands(graph, call)
    u, delta = arrays["u"], _steps(graph, op, arrays)
    batch, _, heads, size = u.shape
    written = _chunked(graph, graph.mul(u, graph.unsqueeze(delta, [3])), op.chunk)
    decay = graph.unsqueeze(graph.mul(delta, arrays["a"]), [3])
    upto = _cumulative(graph, graph.squeeze(_chunked(graph, decay, op.chunk), [4]), -1)
    b, c = (_chunked(graph, every_head(graph, arrays[port], heads), op.chunk) for port in ("B", "C"))
    scores = graph.mul(graph.matmul(c, graph.swapped(b)), _between(graph, upto))
    y = graph.matmul(scores, written)

    last = graph.slice(upto, -1, op.chunk - 1, op.chunk)
    remaining = graph.unary("Exp", graph.sub(last, upto))
    states = graph.matmul(graph.swapped(written), graph.mul(b, graph.unsqueeze(remaining, [4])))
    chunks, features = states.shape[1], states.shape[-1]
    start = arrays.get("initial_state")
    start = graph.zeros((batch, heads, size, features), u.dtype) if start is None else start
    states = graph.concat([graph.unsqueeze(start, [1]), states], 1)
    totals = graph.pad(graph.squeeze(last, [3]), [(0, 0), (1, 0), (0, 0)])
    passing = _between(graph, _cumulative(graph, graph.swapped(totals, 1, 2), -1))
    flat = graph.reshape(graph.swapped(states, 1, 2), (batch, heads, chunks + 1, size * features))
    passed = graph.reshape(graph.matmul(passing, flat), (batch, heads, chunks + 1, size, features))
    states = graph.swapped(passed, 1, 2)

    entering = graph.slice(states, 1, 0, chunks)
    read = graph.mul(graph.matmul(c, graph.swapped(entering)), graph.unsqueeze(graph.unary("Exp", upto), [4]))
    y = _joined(graph, graph.add(y, read), length)
    if "D" in arrays:
        y = graph.add(y, graph.mul(u, graph.unsqueeze(arrays["D"], [1])))
    final = graph.squeeze(graph.slice(states, 1, chunks, chunks + 1), [1])
    return [graph.cast(y, call.outputs[0].dtype), graph.cast(final, call.outputs[1].dtype)]


def _steps(graph: Emitter, op: Any, arrays: dict[str, Tensor]) -> Tensor:
    """Return Δ after its bias, softplus and limits."""
    delta = arrays["delta"]
    if "delta_bias" in arrays:
        delta = graph.add(delta, arrays["delta_bias"])
    if op.delta_softplus:
        delta = graph.unary("Softplus", delta)
    return graph.clip(delta, float(op.delta_min), None if op.delta_max is None else float(op.delta_max))


@rule("gated_delta_rule")
def gated_delta_rule(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return the outputs of all positions, and the last state: a triangular system within chunks, then one by one."""
    op, length, arrays = call.op, _length(call, "value"), operands(graph, call)
    value = arrays["value"]
    batch, _, heads, size = value.shape
    query, key = (every_head(graph, arrays[port], heads) for port in ("query", "key"))
    if op.normalize:
        query, key = _unit(graph, query), _unit(graph, key)
    query = graph.mul(query, query.shape[-1] ** -0.5)
    beta = graph.unsqueeze(arrays["beta"], [3])
    values, writes = (_chunked(graph, graph.mul(x, beta), op.chunk) for x in (value, key))
    query, key = _chunked(graph, query, op.chunk), _chunked(graph, key, op.chunk)
    decay = graph.squeeze(_chunked(graph, graph.unsqueeze(arrays["decay"], [3]), op.chunk), [4])
    upto = _cumulative(graph, decay, -1)
    between = _between(graph, upto)
    system = graph.mul(graph.matmul(writes, graph.swapped(key)), between)
    scores = graph.mul(graph.matmul(query, graph.swapped(key)), between)
    since = graph.unsqueeze(graph.unary("Exp", upto), [4])
    inverse = _inverse(graph, system)
    values, predicting = graph.matmul(inverse, values), graph.matmul(inverse, graph.mul(writes, since))

    last = graph.slice(upto, -1, op.chunk - 1, op.chunk)
    remaining = graph.unsqueeze(graph.unary("Exp", graph.sub(last, upto)), [4])
    query, key = graph.mul(query, since), graph.mul(key, remaining)
    fading = graph.unsqueeze(graph.unary("Exp", last), [4])
    state = arrays.get("initial_state")
    if state is None:
        state = graph.zeros((batch, heads, key.shape[-1], size), value.dtype)
    rows = []
    for place in range(values.shape[1]):
        v, p, q, s, k, f = (_one(graph, x, place) for x in (values, predicting, query, scores, key, fading))
        added = graph.sub(v, graph.matmul(p, state))
        rows.append(graph.unsqueeze(graph.add(graph.matmul(q, state), graph.matmul(s, added)), [1]))
        state = graph.add(graph.mul(state, f), graph.matmul(graph.swapped(k), added))
    y = _joined(graph, graph.concat(rows, 1), length)
    return [graph.cast(y, call.outputs[0].dtype), graph.cast(state, call.outputs[1].dtype)]


def _one(graph: Emitter, x: Tensor, place: int) -> Tensor:
    """Return one chunk."""
    return x if x.rank < 2 else graph.squeeze(graph.slice(x, 1, place, place + 1), [1])


def _unit(graph: Emitter, x: Tensor) -> Tensor:
    squares = graph.add(graph.sum(graph.mul(x, x), [x.rank - 1]), 1e-6)
    return graph.mul(x, graph.unary("Reciprocal", graph.unary("Sqrt", squares)))


def _inverse(graph: Emitter, system: Tensor) -> Tensor:
    """Return the inverse of 1 + L, the strictly lower triangle of the system: (1 − L)(1 + L²)(1 + L⁴)…

    A power of L as high as its size is zero, so that the product is exact after log₂ of the size factors.
    """
    places = int(system.shape[-1])
    distance = ahead(graph, places, places, 0)
    zero = graph.scalar(0, "int64")
    lower = graph.where(graph.compare("Less", distance, zero), system, graph.scalar(0.0, system))
    identity = graph.cast(graph.compare("Equal", distance, zero), system.dtype)
    inverse, power, reached = graph.sub(identity, lower), graph.matmul(lower, lower), 2
    while reached < places:
        inverse = graph.add(inverse, graph.matmul(inverse, power))
        reached *= 2
        if reached < places:
            power = graph.matmul(power, power)
    return inverse
