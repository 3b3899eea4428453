"""Tensors that are drawn."""

from __future__ import annotations

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.state import Call, Outcome, Signal, unknown


@rule("parameter", "linear_weight")
def _parameter(call: Call) -> Outcome:
    """A tensor that is drawn once, and the same for all samples."""
    name = call.instance.node.params[0].name
    spread = call.spread(name)
    if spread is None:
        return Outcome(unknown("the tensor is computed"))
    square = spread.variance + spread.mean**2
    normal = call.normal_weights(name)
    return Outcome(Signal(spread.mean, square, square, normal, frozenset({call.root(name)})), {}, {name: 1.0})
