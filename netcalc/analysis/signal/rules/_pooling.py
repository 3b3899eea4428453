"""Propagation through pooling."""

from __future__ import annotations

import math

from netcalc.analysis.signal.rules._views import view
from netcalc.analysis.signal.state import Call, Outcome, Signal, unknown


def average(call: Call) -> Outcome:
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


def maximum(call: Call) -> Outcome:
    """Maxima of windows, whose distribution is not known; each gradient goes to one element."""
    op = call.op
    routes = op.name.startswith("global") or (
        not op.name.startswith("adaptive")
        and op.strides == op.kernel
        and set(op.pads(call.shape()[-op.axes :])) == {(0, 0)}
    )
    gap = call.x.gap or f"no rule for the maxima of {op.name} ({call.instance.path})"
    return Outcome(unknown(gap), {0: 1.0 if routes else None}, selects=True)
