"""Propagation through convolutions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.rules._products import Taps, computed_weights, padding_note, sum_of_products, with_bias
from netcalc.analysis.signal.state import Call, Outcome


@rule("conv1d", "conv2d", "conv3d")
def _convolution(call: Call) -> Outcome:
    op, weight = call.op, call.parameter_shape("weight")
    if weight is None:
        return computed_weights(call)
    shape, result = call.shape(), call.result
    taps = Taps()
    if op.padding_mode == "zeros":
        spatial = shape[-op.axes :]
        each = zip(spatial, result[-op.axes :], op.kernel, op.stride, op.pads(spatial), op.dilation, strict=True)
        taps = _taps([_inside(*axis) for axis in each])
    keeps = math.prod(weight[2:]) == 1 and taps.inside == 1.0
    rule_of_sums = _standardized if op.weight_standardization else sum_of_products
    return rule_of_sums(call, math.prod(weight[1:]), taps, keeps)


def _taps(axes: Sequence[Sequence[Sequence[bool]]]) -> Taps:
    """Return the shares of taps from the shares along each axis, each window with a truth value for each tap."""
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


def _standardized(call: Call, fan_in: int, taps: Taps, keeps: bool) -> Outcome:
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
    signal = with_bias(call, square, shared, keeps)
    factor = fan_in * taps.inside
    return Outcome(signal, {0: factor}, {"weight": None, "bias": 1.0}, note=padding_note(taps.inside))
