"""Propagation through vectors of positions."""

from __future__ import annotations

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.state import Call, Outcome, Signal, unknown


@rule("learned_positions")
def _learned_positions(call: Call) -> Outcome:
    """A vector for each position, the same for all samples, which is added to the input."""
    spread, x = call.spread("weight"), call.x
    if spread is None or spread.mean or x.square is None:
        return Outcome(unknown(x.gap or "no rule for vectors of positions whose mean is not 0"), {0: 1.0})
    normal = x.normal and call.normal_weights("weight")
    roots = x.roots | {call.root("weight")}
    return Outcome(Signal(x.mean, x.square + spread.variance, None, normal, roots), {0: 1.0}, {"weight": None})
