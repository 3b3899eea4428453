"""Propagation through batch and instance normalization."""

from __future__ import annotations

import math

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.rules._affine import NO_EPS, affine, computed_affine, weight_square
from netcalc.analysis.signal.state import Call, Outcome, Signal, unknown


@rule("batch_norm", "frozen_batch_norm")
def _batch_norm(call: Call) -> Outcome:
    """Normalization of a channel by the statistics of all samples and positions, or by the running statistics."""
    if (outcome := computed_affine(call)) is not None:
        return outcome
    op, x = call.op, call.x
    if not op.own_statistics(call.training):
        factor = 1 / math.sqrt(1 + op.eps)  # the initial statistics are mean 0 and variance 1
        signal = x.times(factor)
        back = weight_square(call) * factor * factor
        note = "running statistics, which are mean 0 and variance 1 at the start: nothing is normalized"
        return Outcome(affine(call, signal), {0: back}, {"bias": 1.0}, note=note)
    shape = call.shape()
    count = shape[0] * math.prod(shape[2:])
    if x.square is None or x.shared is None or not x.square > x.shared:
        normalized = Signal(0.0, 1.0, 0.0, x.normal, x.roots, x.exchangeable)
        return Outcome(affine(call, normalized), {0: None}, {"bias": 1.0}, note=NO_EPS)
    variance = x.square - x.shared  # the variance of a channel: the square of its mean is what samples share
    total = variance + op.eps
    signal = Signal(0.0, variance / total, 0.0, x.normal, x.roots, x.exchangeable)
    back = weight_square(call) * max(1 - 2 / count, 0.0) / total
    return Outcome(affine(call, signal), {0: back}, {"bias": 1.0}, mixes=True)


@rule("instance_norm")
def _instance_norm(call: Call) -> Outcome:
    if not call.op.own_statistics(call.training):
        return _batch_norm(call)
    return Outcome(unknown("statistics over the positions of a sample, whose correlations are not known"), {0: None})
