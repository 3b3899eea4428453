"""Propagation through products with random weights: linear maps and convolutions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from netcalc.analysis.signal.state import Call, Outcome, Rule, Signal, unknown

__all__ = ["RULES"]

#: Inputs of an output below which sums of their products are not close to normal.
_FEW = 16


def _linear(call: Call) -> Outcome:
    weight = call.parameter_shape("weight")
    if weight is None:
        return _computed_weights(call)
    return _product(call, weight[1], Taps(), keeps=True)


def _convolution(call: Call) -> Outcome:
    op, weight = call.op, call.parameter_shape("weight")
    if weight is None:
        return _computed_weights(call)
    shape, result = call.shape(), call.result
    taps = Taps()
    if op.padding_mode == "zeros":
        spatial = shape[-op.axes :]
        each = zip(spatial, result[-op.axes :], op.kernel, op.stride, op.pads(spatial), op.dilation, strict=True)
        taps = _taps([_inside(*axis) for axis in each])
    keeps = math.prod(weight[2:]) == 1 and taps.inside == 1.0
    product = _standardised if op.weight_standardization else _product
    return product(call, math.prod(weight[1:]), taps, keeps)


class Taps(NamedTuple):
    """Shares of the taps of a window that lie inside the input, as zero padding leaves them.

    ``inside`` is the share of all taps, ``both`` that of the taps that are inside for two windows at random,
    ``square`` the mean of the squares of the windows' shares.
    """

    inside: float = 1.0
    both: float = 1.0
    square: float = 1.0


def _taps(axes: Sequence[Sequence[Sequence[bool]]]) -> Taps:
    """Return the shares from those of each axis, which are given for each window as one truth value a tap."""
    inside = both = square = 1.0
    for windows in axes:
        kernel = len(windows[0])
        shares = [sum(window) / kernel for window in windows]
        by_tap = [sum(window[tap] for window in windows) / len(windows) for tap in range(kernel)]
        inside *= sum(shares) / len(windows)
        square *= sum(share * share for share in shares) / len(windows)
        both *= sum(share * share for share in by_tap) / kernel
    return Taps(inside, both, square)


def _inside(
    size: int, windows: int, kernel: int, stride: int, pads: tuple[int, int], dilation: int
) -> list[list[bool]]:
    """Return for each window along an axis which of its taps lie inside the input."""
    return [
        [0 <= window * stride - pads[0] + tap * dilation < size for tap in range(kernel)] for window in range(windows)
    ]


def _computed_weights(call: Call) -> Outcome:
    return Outcome(unknown("the weight is computed by other lines"), {0: None, 1: None})


def _product(call: Call, fan_in: int, taps: Taps, keeps: bool) -> Outcome:
    """Return the outcome of sums of ``fan_in`` products, some of which may be with padding."""
    spread, x = call.spread("weight"), call.x
    if spread is None or spread.mean:
        reason = "no rule for weights whose mean is not 0" if spread else "the weights are computed"
        return Outcome(unknown(reason), {0: None})
    gain = fan_in * spread.variance
    square, shared = _scaled(x.square, taps.inside * gain), _scaled(x.shared, taps.both * gain)
    parameters = {"weight": _scaled(x.square, fan_in * taps.inside), "bias": 1.0}
    signal = _with_bias(call, square, shared, keeps)
    note = _padding_note(taps.inside)
    if not note and fan_in < _FEW:
        note = f"sums of {fan_in} products alone, which are hardly normal"
    return Outcome(signal, {0: taps.inside * gain}, parameters, note=note)


def _standardised(call: Call, fan_in: int, taps: Taps, keeps: bool) -> Outcome:
    """Return the outcome for filters of mean 0 and variance 1, in which the common mean of the inputs cancels.

    Where a part f of the taps lies inside, the sum of their weights is not 0: a weight is correlated with each other
    one by −1/fan_in, which leaves f·E[x²] − f²·E[x]².
    """
    x = call.x
    square = shared = None
    if x.mean is not None and x.square is not None:
        square = fan_in * (taps.inside * x.square - taps.square * x.mean**2)
    if x.mean is not None and x.shared is not None:
        shared = fan_in * max(taps.both * x.shared - (taps.inside * x.mean) ** 2, 0.0)
    signal = _with_bias(call, square, shared, keeps)
    factor = fan_in * taps.inside
    return Outcome(signal, {0: factor}, {"weight": None, "bias": 1.0}, note=_padding_note(taps.inside))


def _scaled(moment: float | None, factor: float) -> float | None:
    return None if moment is None else moment * factor


def _with_bias(call: Call, square: float | None, shared: float | None, keeps: bool) -> Signal:
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


def _padding_note(share: float) -> str:
    return "" if share == 1 else f"{1 - share:.1%} of the taps are on zero padding".replace("%", " %")


RULES: dict[str, Rule] = {
    "linear": _linear,
    "conv1d": _convolution,
    "conv2d": _convolution,
    "conv3d": _convolution,
}
