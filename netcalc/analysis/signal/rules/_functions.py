"""Propagation through activation functions."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from netcalc.analysis.signal.curves import Curve, curve_of
from netcalc.analysis.signal.mean_field import ActivationMoments, activation_moments
from netcalc.analysis.signal.mixture import applied
from netcalc.analysis.signal.quadrature import shared_expectation
from netcalc.analysis.signal.state import Call, Origin, Outcome, Signal, unknown

#: Functions with f(a·x) = a·f(x) for a > 0, whose slopes do not depend on the scale.
_HOMOGENEOUS = {"identity", "relu", "leaky_relu", "prelu"}


def function(call: Call) -> Outcome:
    """Return the outcome of an activation function, whose moments are integrals over the distribution of its input."""
    op, x = call.op, call.x
    curve = curve_of(op)
    assert curve is not None
    parameters: dict[str, float | None] = {"weight": None}
    origin = x.normal_origin
    if origin is None and x.mixture is not None and x.mixture.smooth:
        moments, values = applied(curve, x.mixture)
        signal = Signal(moments.mean, moments.square, None, roots=x.roots, mixture=values)
        return Outcome(signal, {0: moments.slope}, parameters, selects=True)
    if origin is None:
        slope = None
        if op.name in _HOMOGENEOUS and x.normal and x.mean == 0:
            slope = activation_moments(curve).slope
        reason = x.gap or f"no rule for functions of an input that is not normal ({call.instance.path})"
        return Outcome(unknown(reason), {0: slope}, parameters, selects=True)
    moments, shared = _of_normal(op, *_rounded(origin)) if x.origin is None else _of_function(curve, origin)
    signal = Signal(
        moments.mean,
        moments.square,
        shared,
        roots=x.roots,
        exchangeable=x.exchangeable,
        origin=origin._replace(curve=curve if x.origin is None else curve.after(origin.curve)),
    )
    saturated = _saturated(curve, origin) if x.origin is None else None
    return Outcome(signal, {0: moments.slope}, parameters, saturated, selects=True)


def _rounded(origin: Origin) -> tuple[float, float, float | None]:
    """Return mean, variance and covariance to twelve digits, so that layers of equal variance are computed once."""
    mean, variance, covariance = (
        None if value is None else float(f"{value:.12g}") for value in (origin.mean, origin.variance, origin.covariance)
    )
    assert mean is not None and variance is not None
    return mean, variance, covariance


@lru_cache(maxsize=1024)
def _of_normal(
    op: Any, mean: float, variance: float, covariance: float | None
) -> tuple[ActivationMoments, float | None]:
    """Return the moments of an activation function of a normal variable, and E[f(z(a))·f(z(b))] of two samples."""
    curve = curve_of(op)
    assert curve is not None
    moments = activation_moments(curve, variance, mean)
    if covariance is None:
        return moments, None
    return moments, shared_expectation(curve.value, mean, variance, covariance, curve.kinks)


def _of_function(curve: Curve, origin: Origin) -> tuple[ActivationMoments, float | None]:
    """Return moments and expectation for an activation function of another function, with the slope of the outer."""
    inner = origin.curve
    composed = curve.after(inner)
    outer_slope = Curve(curve.name, composed.value, lambda x: curve.slope(inner.value(x)), inner.kinks)
    moments = activation_moments(outer_slope, origin.variance, origin.mean)
    if origin.covariance is None:
        return moments, None
    return moments, shared_expectation(composed.value, origin.mean, origin.variance, origin.covariance, composed.kinks)


def _saturated(curve: Curve, origin: Origin) -> float | None:
    """Return the share of a normal variable for which the slope is below a tenth of its greatest."""
    if curve.active is None:
        return None
    if origin.variance <= 0:
        return 0.0 if curve.active[0] < origin.mean < curve.active[1] else 1.0
    low, high = (math.erf((edge - origin.mean) / math.sqrt(2 * origin.variance)) for edge in curve.active)
    return 1 - (high - low) / 2
