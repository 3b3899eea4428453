"""Propagation through normalisation, which resets the variance."""

from __future__ import annotations

import math
from dataclasses import replace

from netcalc.analysis.signal.state import Call, Outcome, Rule, Signal, unknown

__all__ = ["RULES"]

#: Channels in a group below which their mean is not close to its expectation.
_FEW = 8
#: Machine epsilon of float32, for norms without an eps.
_EPSILON = 2.0**-23
_NO_EPS = "eps, since the variance before the norm is not known"


def _layer_norm(call: Call) -> Outcome:
    features = math.prod(call.shape()[-call.op.count :])
    return _whole(call, features, centred=True)


def _rms_norm(call: Call) -> Outcome:
    features = math.prod(call.shape()[-call.op.count :])
    return _whole(call, features, centred=False)


def _group_norm(call: Call) -> Outcome:
    shape, groups = call.shape(), int(call.op.groups)
    if shape[1] // groups < _FEW:
        return Outcome(
            unknown(f"statistics of {shape[1] // groups} channels, too few for their expectation"), {0: None}
        )
    return _whole(call, math.prod(shape[1:]) // groups, centred=True)


def _whole(call: Call, features: int, *, centred: bool) -> Outcome:
    """Normalisation of a sample by the statistics of its own ``features`` elements."""
    x = call.x
    offset = x.mean if centred else 0.0
    eps = _EPSILON if call.op.eps is None else call.op.eps
    if x.square is None or x.mean is None or offset is None:
        known = Signal(0.0 if centred or x.normal else None, 1.0, None, x.normal, x.roots, gap=x.gap)
        if known.mean is None:
            known = replace(known, square=None, gap=x.gap)
        return Outcome(_affine(call, known), {0: None}, {"bias": 1.0}, note=_NO_EPS)
    variance = x.square - offset**2 + eps
    signal = x.plus(-offset).times(1 / math.sqrt(variance))
    removed = (2 if centred else 1) / features
    back = _weight_square(call) * max(1 - removed, 0.0) / variance
    return Outcome(_affine(call, signal), {0: back}, {"bias": 1.0})


def _batch_norm(call: Call) -> Outcome:
    """Normalisation of a channel by the statistics of all samples and positions, or by the running statistics."""
    op, x = call.op, call.x
    if not op.own_statistics(call.training):
        factor = 1 / math.sqrt(1 + op.eps)  # the initial statistics are mean 0 and variance 1
        signal = x.times(factor)
        back = _weight_square(call) * factor * factor
        note = "running statistics, which are mean 0 and variance 1 at the start: nothing is normalised"
        return Outcome(_affine(call, signal), {0: back}, {"bias": 1.0}, note=note)
    shape = call.shape()
    count = shape[0] * math.prod(shape[2:])
    if x.square is None or x.shared is None or not x.square > x.shared:
        known = Signal(0.0, 1.0, 0.0, x.normal, x.roots, x.exchangeable)
        return Outcome(_affine(call, known), {0: None}, {"bias": 1.0}, note=_NO_EPS)
    variance = x.square - x.shared  # that of a channel: the square of its mean is what samples share
    total = variance + op.eps
    signal = Signal(0.0, variance / total, 0.0, x.normal, x.roots, x.exchangeable)
    back = _weight_square(call) * max(1 - 2 / count, 0.0) / total
    return Outcome(_affine(call, signal), {0: back}, {"bias": 1.0}, mixes=True)


def _instance_norm(call: Call) -> Outcome:
    if not call.op.own_statistics(call.training):
        return _batch_norm(call)
    return Outcome(unknown("statistics over the positions of a sample, whose correlations are not known"), {0: None})


def _weight_square(call: Call) -> float:
    """Return E[γ²] of the weight, 1 without one."""
    spread = call.spread("weight") if call.parameter_shape("weight") else None
    if spread is None:
        return 1.0
    mean = spread.mean + _offset(call)
    return spread.variance + mean * mean


def _offset(call: Call) -> float:
    """Return what is added to the weight of an RMS norm."""
    return float(call.op.offset) if call.op.name == "rms_norm" else 0.0


def _affine(call: Call, x: Signal) -> Signal:
    """Return the signal times the weight plus the bias of the norm, whose elements are drawn."""
    weight = call.spread("weight") if call.parameter_shape("weight") else None
    bias = call.spread("bias") if call.parameter_shape("bias") else None
    if weight is not None:
        mean = weight.mean + _offset(call)
        scaled = x.times(mean)
        if weight.variance:
            both = weight.variance + mean * mean
            square, shared = (None if moment is None else both * moment for moment in (x.square, x.shared))
            scaled = replace(scaled, square=square, shared=shared, normal=False, origin=None, mixture=None)
        x = scaled
    if bias is None:
        return x
    x = x.plus(bias.mean)
    if bias.variance:
        square = None if x.square is None else x.square + bias.variance
        shared = None if x.shared is None else x.shared + bias.variance
        x = replace(x, square=square, shared=shared, origin=None, mixture=None)
    return x


RULES: dict[str, Rule] = {
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "group_norm": _group_norm,
    "batch_norm": _batch_norm,
    "frozen_batch_norm": _batch_norm,
    "instance_norm": _instance_norm,
}
