"""Random numbers as signals."""

from __future__ import annotations

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.state import Call, Outcome, Signal

_SAMPLES = "samples may share random numbers, or have their own"


@rule("normal", "uniform", "exponential")
def _distribution(call: Call) -> Outcome:
    """Independent numbers of a distribution."""
    op = call.op
    match op.name:
        case "normal":
            mean, variance = op.mean, op.std**2
        case "uniform":
            mean, variance = (op.low + op.high) / 2, (op.high - op.low) ** 2 / 12
        case _:
            mean, variance = 1 / op.rate, 1 / op.rate**2
    roots = frozenset({call.instance.path})
    return Outcome(Signal(mean, variance + mean**2, None, op.name == "normal", roots, gap=_SAMPLES))
