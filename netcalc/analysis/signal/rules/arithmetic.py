"""Propagation through arithmetic on tensors."""

from __future__ import annotations

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.state import Call, Outcome, Signal, unknown


@rule("add", "sub")
def _sum(call: Call) -> Outcome:
    """Sum of uncorrelated signals: the variances add up, and so do the products of different samples."""
    sign = -1.0 if call.op.name == "sub" else 1.0
    parts = [x for x in call.inputs if x is not None]
    number = call.op.value
    if number is not None and call.op.name == "sub":
        offset, scale = (float(number), -1.0) if call.op.reverse else (-float(number), 1.0)
        return Outcome(parts[0].times(scale).plus(offset), {0: 1.0})
    total = parts[0]
    for part in parts[1:]:
        total = _added(total, part.times(sign))
    back: dict[int, float | None] = dict.fromkeys(range(len(parts)), 1.0)
    return Outcome(total if number is None else total.plus(float(number)), back)


def _added(a: Signal, b: Signal) -> Signal:
    normal = a.normal and b.normal
    roots = a.roots | b.roots
    mean = None if a.mean is None or b.mean is None else a.mean + b.mean
    if a.square is None or b.square is None or mean is None:
        return Signal(mean, None, None, normal, roots, gap=a.gap or b.gap)
    if a.roots & b.roots:
        return Signal(mean, None, None, roots=roots, gap="a sum of parts that are correlated, with the same weights")
    assert a.mean is not None and b.mean is not None
    cross = 2 * a.mean * b.mean
    shared = None if a.shared is None or b.shared is None else a.shared + b.shared + cross
    mixture = None if normal else a.plus_normal(b) or b.plus_normal(a)
    together = a.exchangeable and b.exchangeable
    return Signal(mean, a.square + b.square + cross, shared, normal, roots, together, mixture=mixture)


@rule("mul", "div")
def _multiple(call: Call) -> Outcome:
    """Product with a number, or of independent signals."""
    op = call.op
    parts = [x for x in call.inputs if x is not None]
    if op.value is not None and len(parts) == 1:
        if op.name == "div":
            if op.reverse:
                return Outcome(unknown("no rule for a division by a signal"), {0: None})
            factor = 1 / float(op.value)
        else:
            factor = float(op.value)
        return Outcome(parts[0].times(factor), {0: factor * factor})
    if op.name == "div" or len(parts) != 2 or op.value is not None:
        return Outcome(unknown(f"no rule for {op.name} of signals"), dict.fromkeys(range(len(parts)), None))
    a, b = parts
    back: dict[int, float | None] = {0: b.square, 1: a.square}
    if a.roots & b.roots:
        return Outcome(unknown("a product of factors that are correlated, with the same weights"), {0: None, 1: None})
    for factor_signal, other in ((a, b), (b, a)):
        if factor_signal.mean is not None and factor_signal.variance == 0:
            return Outcome(other.times(factor_signal.mean), back)

    def product(x: float | None, y: float | None) -> float | None:
        return None if x is None or y is None else x * y

    signal = Signal(
        product(a.mean, b.mean),
        product(a.square, b.square),
        product(a.shared, b.shared),
        roots=a.roots | b.roots,
        exchangeable=a.exchangeable and b.exchangeable,
        gap=a.gap or b.gap,
    )
    return Outcome(signal, back)
