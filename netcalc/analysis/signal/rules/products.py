"""Propagation through products with random weights: linear maps and convolutions."""

from __future__ import annotations

import math
from dataclasses import replace

from netcalc.analysis.signal.state import Call, Outcome, Rule, Signal, unknown

__all__ = ["RULES"]


def _linear(call: Call) -> Outcome:
    weight = call.parameter_shape("weight")
    if weight is None:
        return _computed_weights(call)
    return _product(call, weight[1], 1.0, keeps=True)


def _convolution(call: Call) -> Outcome:
    op, weight = call.op, call.parameter_shape("weight")
    if weight is None:
        return _computed_weights(call)
    shape, result = call.shape(), call.result
    share = 1.0
    if op.padding_mode == "zeros":
        spatial = shape[-op.axes :]
        each = zip(spatial, result[-op.axes :], op.kernel, op.stride, op.pads(spatial), op.dilation, strict=True)
        share = math.prod(_taps_inside(*axis) for axis in each)
    keeps = math.prod(weight[2:]) == 1 and share == 1.0
    if op.weight_standardization:
        return _standardised(call, math.prod(weight[1:]), share, keeps)
    return _product(call, math.prod(weight[1:]), share, keeps)


def _taps_inside(size: int, windows: int, kernel: int, stride: int, pads: tuple[int, int], dilation: int) -> float:
    """Return the share of the taps of all windows along an axis that lie inside the input."""
    before = pads[0]
    inside = sum(
        0 <= window * stride - before + tap * dilation < size for window in range(windows) for tap in range(kernel)
    )
    return inside / (windows * kernel)


def _computed_weights(call: Call) -> Outcome:
    return Outcome(unknown("the weight is computed by other lines"), {0: None, 1: None})


def _product(call: Call, fan_in: int, share: float, keeps: bool) -> Outcome:
    """Return the outcome of sums of ``fan_in`` products, of which a ``share`` are not with padding."""
    spread, x = call.spread("weight"), call.x
    if spread is None or spread.mean:
        reason = "no rule for weights whose mean is not 0" if spread else "the weights are computed"
        return Outcome(unknown(reason), {0: None})
    gain = fan_in * share * spread.variance
    parameters = {"weight": None if x.square is None else fan_in * share * x.square, "bias": 1.0}
    signal = _with_bias(call, x, gain, keeps)
    return Outcome(signal, {0: gain}, parameters, note=_padding_note(share))


def _standardised(call: Call, fan_in: int, share: float, keeps: bool) -> Outcome:
    """Return the outcome for filters of mean 0 and variance 1, in which the common mean of the inputs cancels."""
    x = call.x
    if share < 1:
        return Outcome(
            unknown("standardised filters that overlap padding", normal=True, mean=0.0, root=call.root("weight")),
            {0: float(fan_in * share)},
        )
    if x.mean is None:
        centred = x
    else:
        square, shared = (None if m is None else max(m - x.mean**2, 0.0) for m in (x.square, x.shared))
        centred = replace(x, mean=0.0, square=square, shared=shared)
    return Outcome(_with_bias(call, centred, float(fan_in), keeps), {0: float(fan_in)}, {"weight": None, "bias": 1.0})


def _with_bias(call: Call, x: Signal, gain: float, keeps: bool) -> Signal:
    bias = call.spread("bias") if call.parameter_shape("bias") else None
    mean = bias.mean if bias else 0.0
    extra = bias.variance + mean * mean if bias else 0.0
    return Signal(
        mean,
        None if x.square is None else gain * x.square + extra,
        None if x.shared is None else gain * x.shared + extra,
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
