"""State-space recurrences over a sequence, as Scan over its positions."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.scan import Sequenced, scan


def in_precision(graph: Emitter, call: Applied, dtype: str) -> dict[str, Tensor]:
    """Return the inputs that are present by their ports, in the element type of the arithmetic."""
    return {port: graph.cast(value, dtype) for port, value in call.op.named(call.inputs).items()}


def with_bias(graph: Emitter, call: Applied, delta: Tensor, bias: Tensor | None) -> Tensor:
    """Return Δ after its bias and softplus."""
    if bias is not None:
        delta = graph.add(delta, bias)
    return graph.unary("Softplus", delta) if call.op.delta_softplus else delta


@rule("selective_scan")
def selective_scan(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return a Scan whose state is (batch, channels, state)."""
    state_type = call.outputs[1]
    named = in_precision(graph, call, state_type.dtype)
    u, a = named["u"], named["A"]
    batch, channels, size = state_type.shape
    bias = named.get("delta_bias")
    delta = with_bias(graph, call, named["delta"], bias and graph.unsqueeze(bias, [1]))
    selective = [port for port in ("B", "C") if named[port].rank > 2]

    def of_channels(inner: Emitter, value: Tensor) -> Tensor:
        """Return B or C at a position with an axis that broadcasts over channels."""
        if value.rank == 2:  # (batch, state)
            return inner.unsqueeze(value, [1])
        groups = value.shape[1]
        spread = inner.expand(inner.unsqueeze(value, [2]), (batch, groups, channels // groups, size))
        return inner.reshape(spread, (batch, channels, size))

    def step(inner: Emitter, states: list[Tensor], items: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        at, weighted, *others = items
        chosen = {port: of_channels(inner, item) for port, item in zip(selective, others, strict=True)}
        b, c = (chosen.get(port, named[port]) for port in ("B", "C"))
        decay = inner.unary("Exp", inner.mul(inner.unsqueeze(at, [2]), a))
        state = inner.add(inner.mul(decay, states[0]), inner.mul(inner.unsqueeze(weighted, [2]), b))
        return [state], [inner.sum(inner.mul(state, c), [2], keep=False)]

    start = named.get("initial_state") or graph.zeros(state_type.shape, state_type.dtype)
    sequences = [Sequenced(delta, 2), Sequenced(graph.mul(delta, u), 2), *(Sequenced(named[p], 1) for p in selective)]
    (last,), (y,) = scan(graph, [start], sequences, step, [2])
    if "D" in named:
        y = graph.add(y, graph.mul(u, graph.unsqueeze(named["D"], [1])))
    if "z" in named:
        y = graph.mul(y, graph.mul(named["z"], graph.unary("Sigmoid", named["z"])))
    return [graph.cast(y, call.output.dtype), last]


@rule("wkv")
def wkv(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return a Scan whose states are the sums with and without values, and their largest exponent."""
    named = in_precision(graph, call, _precision(call))
    k, v, w, b = (named[port] for port in ("key", "value", "decay", "bonus"))
    shape = (v.shape[0], v.shape[2])
    starts = {"numerator": 0.0, "denominator": 0.0, "exponent": -1e38}
    states = [named.get(port) or graph.zeros(shape, v.dtype, value) for port, value in starts.items()]

    def updated(inner: Emitter, sums: list[Tensor], exponent: Tensor, value: Tensor) -> list[Tensor]:
        """Return the sums after a further position is added, relative to their largest exponent."""
        above, below, largest = sums
        top = inner.binary("Max", largest, exponent)
        old, new = (inner.unary("Exp", inner.sub(power, top)) for power in (largest, exponent))
        up = inner.add(inner.mul(old, above), inner.mul(new, value))
        return [up, inner.add(inner.mul(old, below), new), top]

    def step(inner: Emitter, sums: list[Tensor], items: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        key, value = items
        up, down, _ = updated(inner, sums, inner.add(key, b), value)
        faded = [*sums[:2], inner.add(sums[2], w)]
        return updated(inner, faded, key, value), [inner.div(up, down)]

    last, (y,) = scan(graph, states, [Sequenced(k, 1), Sequenced(v, 1)], step, [1])
    return [graph.cast(y, call.output.dtype), *(last if call.op.return_state else [])]


def _precision(call: Applied) -> str:
    from netcalc.dtypes import promote

    return promote("float32", *(value.dtype for value in call.given))  # type: ignore[arg-type]
