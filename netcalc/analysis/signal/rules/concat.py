"""Propagation through joined tensors, and tensors in pieces."""

from __future__ import annotations

import math

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.rules._views import view
from netcalc.analysis.signal.state import Call, Outcome, Signal, unknown

rule("split", "chunk")(view)


@rule("concat", "stack")
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
