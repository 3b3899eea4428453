"""Scans position by position: selective state spaces, and the weighted sums of RWKV."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule
from netcalc.formats.export.onnx.rules.activation import silu_of
from netcalc.formats.export.onnx.rules.chunked_scan import operands


def _positions(x: Tensor, axis: int) -> int:
    length = x.shape[axis]
    if not isinstance(length, int):
        raise UnsupportedError("a scan over a symbolic length")
    return length


def _at(graph: Emitter, x: Tensor, axis: int, place: int) -> Tensor:
    return graph.squeeze(graph.slice(x, axis, place, place + 1), [axis])


@rule("selective_scan")
def selective_scan(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return the outputs of all positions, one after the other, and the last state."""
    arrays = operands(graph, call)
    u, delta, a = arrays["u"], arrays["delta"], arrays["A"]
    length = _positions(u, 2)
    batch, channels, _ = u.shape
    size = a.shape[1]
    if "delta_bias" in arrays:
        delta = graph.add(delta, graph.unsqueeze(arrays["delta_bias"], [1]))
    if call.op.delta_softplus:
        delta = graph.unary("Softplus", delta)
    weighted = graph.mul(delta, u)
    b, c = (_grouped(graph, arrays[port], length) for port in ("B", "C"))
    state = arrays.get("initial_state")
    state = graph.zeros((batch, channels, size), u.dtype) if state is None else state
    rows = []
    for place in range(length):
        decay = graph.unary("Exp", graph.mul(graph.unsqueeze(_at(graph, delta, 2, place), [2]), a))
        groups = b.shape[2]
        added = graph.reshape(_at(graph, weighted, 2, place), (batch, groups, channels // groups, 1))
        added = graph.mul(added, graph.unsqueeze(_at(graph, b, 1, place), [2]))
        state = graph.add(graph.mul(decay, state), graph.reshape(added, state.shape))
        groups = c.shape[2]
        grouped = graph.reshape(state, (batch, groups, channels // groups, size))
        read = graph.matmul(grouped, graph.unsqueeze(_at(graph, c, 1, place), [3]))
        rows.append(graph.reshape(read, (batch, channels, 1)))
    y = graph.concat(rows, 2)
    if "D" in arrays:
        y = graph.add(y, graph.mul(u, graph.unsqueeze(arrays["D"], [1])))
    if "z" in arrays:
        y = graph.mul(y, silu_of(graph, arrays["z"]))
    return [graph.cast(y, call.outputs[0].dtype), graph.cast(state, call.outputs[1].dtype)]


def _grouped(graph: Emitter, x: Tensor, length: int) -> Tensor:
    """Return B or C as (batch or 1, length, groups, state); if fixed, with a group for each channel."""
    if x.rank == 2:
        return graph.expand(graph.unsqueeze(x, [0, 1]), (1, length, *x.shape))
    return graph.unsqueeze(x, [2]) if x.rank == 3 else x


@rule("wkv")
def wkv(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return the weighted means of all positions, one after the other, and the sums for the next if asked for."""
    arrays = operands(graph, call)
    key, value, decay, bonus = (arrays[port] for port in ("key", "value", "decay", "bonus"))
    length = _positions(value, 1)
    batch, _, channels = value.shape
    shape = (batch, channels)
    above, below, largest = (
        arrays.get(port) or graph.zeros(shape, value.dtype, start)
        for port, start in (("numerator", 0.0), ("denominator", 0.0), ("exponent", -1e38))
    )
    rows = []
    for place in range(length):
        k, v = _at(graph, key, 1, place), _at(graph, value, 1, place)
        up, down, _ = _updated(graph, above, below, largest, graph.add(k, bonus), v)
        rows.append(graph.unsqueeze(graph.div(up, down), [1]))
        above, below, largest = _updated(graph, above, below, graph.add(largest, decay), k, v)
    results = [graph.concat(rows, 1), above, below, largest][: len(call.outputs)]
    return [graph.cast(made, type_.dtype) for made, type_ in zip(results, call.outputs, strict=True)]


def _updated(
    graph: Emitter, above: Tensor, below: Tensor, largest: Tensor, exponent: Tensor, v: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the sums with and without values after a further position, and their largest exponent."""
    top = graph.binary("Max", largest, exponent)
    old, new = (graph.unary("Exp", graph.sub(value, top)) for value in (largest, exponent))
    up = graph.add(graph.mul(old, above), graph.mul(new, v))
    return up, graph.add(graph.mul(old, below), new), top
