"""Propagation through embeddings."""

from __future__ import annotations

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.state import Call, Outcome, Signal, unknown


@rule("embedding")
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
