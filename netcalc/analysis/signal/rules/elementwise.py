"""Propagation through conversions of the element type."""

from __future__ import annotations

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.rules._views import view
from netcalc.analysis.signal.state import Call, Outcome, unknown


@rule("cast")
def _cast(call: Call) -> Outcome:
    return view(call) if call.instance.node.output_types[0].is_float else Outcome(unknown("integers"), {0: 0.0})
