"""Propagation through views, joins, tables and average pooling."""

from __future__ import annotations

import math

from netcalc.analysis.signal.state import Call, Outcome, Rule, Signal, unknown

__all__ = ["RULES", "view"]


def view(call: Call) -> Outcome:
    """Return the outcome of an operation that moves elements and computes nothing."""
    return Outcome(call.x, {0: 1.0})


def _concat(call: Call) -> Outcome:
    parts = [x for x in call.inputs if x is not None]
    roots = frozenset[str]().union(*(x.roots for x in parts))
    weights = [math.prod(call.shape(number)) for number in range(len(parts))]
    back: dict[int, float | None] = {number: size / max(sum(weights), 1) for number, size in enumerate(weights)}
    gap = next((x.gap for x in parts if x.gap), "")
    if gap:
        return Outcome(unknown(gap), back)

    def mean(moments: list[float | None]) -> float | None:
        if None in moments:
            return None
        return sum(w * m for w, m in zip(weights, moments, strict=True) if m is not None) / max(sum(weights), 1)

    alike = all(x == parts[0] or (x.normal and x.square == parts[0].square) for x in parts)
    return Outcome(
        Signal(
            mean([x.mean for x in parts]),
            mean([x.square for x in parts]),
            mean([x.shared for x in parts]),
            alike and parts[0].normal,
            roots,
            all(x.exchangeable for x in parts),
        ),
        back,
    )


def _table(call: Call) -> Outcome:
    """Rows of a table, drawn for tokens that are uniform over it."""
    spread = call.spread("weight")
    if spread is None:
        return Outcome(unknown("the table is computed"))
    factor = 1.0 if call.op.scale is None else float(call.op.scale)
    variance, mean = spread.variance * factor**2, spread.mean * factor
    normal = call.normal_weights("weight") and not mean
    shared = mean**2 + variance / int(call.op.num_embeddings)
    return Outcome(Signal(mean, variance + mean**2, shared, normal, frozenset({call.root("weight")})))


def _parameter(call: Call) -> Outcome:
    """A tensor that is drawn once, and the same for all samples."""
    name = call.instance.node.params[0].name
    spread = call.spread(name)
    if spread is None:
        return Outcome(unknown("the tensor is computed"))
    square = spread.variance + spread.mean**2
    normal = call.normal_weights(name)
    return Outcome(Signal(spread.mean, square, square, normal, frozenset({call.root(name)})), {}, {name: 1.0})


def _average(call: Call) -> Outcome:
    """Means of windows without padding over positions that correlate as different samples do."""
    op, x, shape, result = call.op, call.x, call.shape(), call.result
    spatial = op.axes
    if op.name.startswith("avg"):
        plain = set(op.pads(shape[-spatial:])) == {(0, 0)} and not op.ceil_mode and op.divisor_override is None
        if not plain or op.strides != op.kernel:
            return Outcome(unknown("no rule for pooling with overlap or padding"), {0: None})
        window = math.prod(op.kernel)
    else:
        positions = math.prod(result[-spatial:]) if len(result) == len(shape) else 1
        window, rest = divmod(math.prod(shape[-spatial:]), positions)
        if rest:
            return Outcome(unknown("no rule for windows of different sizes"), {0: None})
    if window == 1:
        return view(call)
    back = 1 / window
    if not x.exchangeable or x.square is None or x.shared is None:
        reason = x.gap or "no rule for averages over positions that are correlated by overlapping windows"
        return Outcome(unknown(reason, normal=x.normal, mean=x.mean), {0: back}, mixes=True)
    square = (x.square + (window - 1) * x.shared) / window
    return Outcome(Signal(x.mean, square, x.shared, x.normal, x.roots, True), {0: back}, mixes=True)


def _maximum(call: Call) -> Outcome:
    """Maxima of windows, whose distribution is not known; each gradient goes to one element."""
    op = call.op
    routes = op.name.startswith("global") or (
        not op.name.startswith("adaptive")
        and op.strides == op.kernel
        and set(op.pads(call.shape()[-op.axes :])) == {(0, 0)}
    )
    gap = call.x.gap or f"no rule for the maxima of {op.name} ({call.instance.path})"
    return Outcome(unknown(gap), {0: 1.0 if routes else None}, selects=True)


def _learned_positions(call: Call) -> Outcome:
    """A vector for each position, the same for all samples, which is added to the input."""
    spread, x = call.spread("weight"), call.x
    if spread is None or spread.mean or x.square is None:
        return Outcome(unknown(x.gap or "no rule for vectors of positions whose mean is not 0"), {0: 1.0})
    normal = x.normal and call.normal_weights("weight")
    roots = x.roots | {call.root("weight")}
    return Outcome(Signal(x.mean, x.square + spread.variance, None, normal, roots), {0: 1.0}, {"weight": None})


_VIEWS = (
    "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "permute", "transpose", "split", "chunk", "roll", "flip",
    "channel_shuffle", "pixel_shuffle", "pixel_unshuffle", "slice", "select", "tile",
)  # fmt: skip

RULES: dict[str, Rule] = {
    **dict.fromkeys(_VIEWS, view),
    "concat": _concat,
    "stack": _concat,
    "embedding": _table,
    "learned_positions": _learned_positions,
    **{f"{kind}max_pool{axes}d": _maximum for kind in ("", "global_", "adaptive_") for axes in (1, 2, 3)},
    "parameter": _parameter,
    **{f"avg_pool{axes}d": _average for axes in (1, 2, 3)},
    **{f"{kind}_avg_pool{axes}d": _average for kind in ("global", "adaptive") for axes in (1, 2, 3)},
}
