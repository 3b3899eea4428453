"""Propagation through sums of products with random weights."""

from __future__ import annotations

from typing import NamedTuple

from netcalc.analysis.signal.state import Call, Outcome, Signal, unknown

#: Inputs of an output below which sums of their products are not close to normal.
_FEW = 16


def computed_weights(call: Call) -> Outcome:
    """Return the outcome of products with a weight that other lines compute."""
    return Outcome(unknown("the weight is computed by other lines"), {0: None, 1: None})


class Taps(NamedTuple):
    """Shares of the taps of a window that lie inside the input, as zero padding leaves them.

    ``inside`` is the share of all taps, ``both`` the share of the taps that are inside for two windows at random,
    ``square`` the mean of the squares of the windows' shares.
    """

    inside: float = 1.0
    both: float = 1.0
    square: float = 1.0


def sum_of_products(call: Call, fan_in: int, taps: Taps, keeps: bool) -> Outcome:
    """Return the outcome of sums of ``fan_in`` products, some of which may be with padding."""
    spread, x = call.spread("weight"), call.x
    if spread is None or spread.mean:
        reason = "no rule for weights whose mean is not 0" if spread else "the weights are computed"
        return Outcome(unknown(reason), {0: None})
    gain = fan_in * spread.variance
    square, shared = _scaled(x.square, taps.inside * gain), _scaled(x.shared, taps.both * gain)
    parameters = {"weight": _scaled(x.square, fan_in * taps.inside), "bias": 1.0}
    signal = with_bias(call, square, shared, keeps)
    note = padding_note(taps.inside)
    if not note and fan_in < _FEW:
        note = f"sums of {fan_in} products alone, which are hardly normal"
    return Outcome(signal, {0: taps.inside * gain}, parameters, note=note)


def _scaled(moment: float | None, factor: float) -> float | None:
    return None if moment is None else moment * factor


def with_bias(call: Call, square: float | None, shared: float | None, keeps: bool) -> Signal:
    """Return the signal of sums with these moments, plus a bias."""
    x = call.x
    bias = call.spread("bias") if call.parameter_shape("bias") else None
    mean = bias.mean if bias else 0.0
    extra = bias.variance + mean * mean if bias else 0.0
    return Signal(
        mean,
        None if square is None else square + extra,
        None if shared is None else shared + extra,
        normal=True,
        roots=frozenset({call.root("weight")}),
        exchangeable=x.exchangeable and keeps,
        gap=x.gap,
    )


def padding_note(share: float) -> str:
    """Return the note on a share of taps that lies inside the input; no text if all do."""
    return "" if share == 1 else f"{1 - share:.1%} of the taps are on zero padding".replace("%", " %")
