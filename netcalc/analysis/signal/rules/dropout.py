"""Propagation through dropout."""

from __future__ import annotations

from dataclasses import replace

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.rules._views import view
from netcalc.analysis.signal.state import Call, Outcome, Signal


@rule("dropout", "stochastic_depth")
def _dropout(call: Call) -> Outcome:
    """Scaling by 1/(1 − p) with probability 1 − p, which keeps the mean and the products of different samples."""
    op, x = call.op, call.x
    if not call.training or op.p == 0:
        return view(call)
    if op.p == 1:
        return Outcome(Signal(0.0, 0.0, 0.0), {0: 0.0})
    factor = 1 / (1 - op.p)
    square = None if x.square is None else x.square * factor
    together = call.op.name == "stochastic_depth" and op.mode == "batch"
    shared = square if together and x.shared is None else x.shared
    if together and x.shared is not None:
        shared = x.shared * factor
    return Outcome(replace(x, square=square, shared=shared, normal=False, origin=None, mixture=None), {0: factor})
