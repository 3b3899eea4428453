"""Propagation through linear maps."""

from __future__ import annotations

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.rules._products import Taps, computed_weights, sum_of_products
from netcalc.analysis.signal.state import Call, Outcome


@rule("linear")
def _linear(call: Call) -> Outcome:
    weight = call.parameter_shape("weight")
    if weight is None:
        return computed_weights(call)
    return sum_of_products(call, weight[1], Taps(), keeps=True)
