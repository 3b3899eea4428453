"""Propagation through the affine maps of norms."""

from __future__ import annotations

from dataclasses import replace

from netcalc.analysis.signal.state import Call, Outcome, Signal, unknown

NO_EPS = "eps, since the variance before the norm is not known"


def computed_affine(call: Call) -> Outcome | None:
    """Return the outcome of a norm that takes weight, bias or statistics of other lines; None for any other norm."""
    given = [position for position, signal in enumerate(call.inputs) if signal is not None]
    if len(given) < 2:
        return None
    return Outcome(unknown("the affine map is computed by other lines"), dict.fromkeys(given))


def weight_square(call: Call) -> float:
    """Return E[γ²] of the weight, 1 without one."""
    spread = call.spread("weight") if call.parameter_shape("weight") else None
    if spread is None:
        return 1.0
    mean = spread.mean + _offset(call)
    return spread.variance + mean * mean


def _offset(call: Call) -> float:
    """Return what is added to the weight of an RMS norm."""
    return float(call.op.offset) if call.op.name == "rms_norm" else 0.0


def affine(call: Call, x: Signal) -> Signal:
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
