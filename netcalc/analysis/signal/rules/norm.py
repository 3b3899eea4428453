"""Propagation through normalization by the statistics of a sample, which resets the variance."""

from __future__ import annotations

import math
from dataclasses import replace

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.rules._affine import NO_EPS, affine, computed_affine, weight_square
from netcalc.analysis.signal.state import Call, Outcome, Signal, unknown

#: Channels in a group below which their mean is not close to its expectation.
_FEW = 8
#: Machine epsilon of float32, for norms without an eps.
_EPSILON = 2.0**-23


@rule("layer_norm")
def _layer_norm(call: Call) -> Outcome:
    features = math.prod(call.shape()[-call.op.count :])
    return _sample_norm(call, features, centered=True)


@rule("rms_norm")
def _rms_norm(call: Call) -> Outcome:
    features = math.prod(call.shape()[-call.op.count :])
    return _sample_norm(call, features, centered=False)


@rule("group_norm")
def _group_norm(call: Call) -> Outcome:
    shape, groups = call.shape(), int(call.op.groups)
    if shape[1] // groups < _FEW:
        return Outcome(
            unknown(f"statistics of {shape[1] // groups} channels, too few for their expectation"), {0: None}
        )
    return _sample_norm(call, math.prod(shape[1:]) // groups, centered=True)


def _sample_norm(call: Call, features: int, *, centered: bool) -> Outcome:
    """Normalization of a sample by the statistics of its own ``features`` elements."""
    if (outcome := computed_affine(call)) is not None:
        return outcome
    x = call.x
    offset = x.mean if centered else 0.0
    eps = _EPSILON if call.op.eps is None else call.op.eps
    if x.square is None or x.mean is None or offset is None:
        normalized = Signal(0.0 if centered or x.normal else None, 1.0, None, x.normal, x.roots, gap=x.gap)
        if normalized.mean is None:
            normalized = replace(normalized, square=None, gap=x.gap)
        return Outcome(affine(call, normalized), {0: None}, {"bias": 1.0}, note=NO_EPS)
    variance = x.square - offset**2 + eps
    signal = x.plus(-offset).times(1 / math.sqrt(variance))
    removed = (2 if centered else 1) / features
    back = weight_square(call) * max(1 - removed, 0.0) / variance
    return Outcome(affine(call, signal), {0: back}, {"bias": 1.0})
