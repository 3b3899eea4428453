"""Propagation through activation functions, arithmetic on tensors, and dropout."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

from netcalc.analysis.signal.curves import CURVES, Curve, curve_of
from netcalc.analysis.signal.mean_field import ActivationMoments, activation_moments
from netcalc.analysis.signal.mixture import applied
from netcalc.analysis.signal.quadrature import shared_expectation
from netcalc.analysis.signal.state import Call, Origin, Outcome, Rule, Signal, unknown

__all__ = ["RULES"]

#: Functions with f(a·x) = a·f(x) for a > 0, whose slopes do not depend on the scale.
_HOMOGENEOUS = {"identity", "relu", "leaky_relu", "prelu"}


def _activation(call: Call) -> Outcome:
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
    """Return the same of an activation function of another function; the slope is that of the outer one."""
    inner = origin.curve
    whole = curve.after(inner)
    outer_slope = Curve(curve.name, whole.value, lambda x: curve.slope(inner.value(x)), inner.kinks)
    moments = activation_moments(outer_slope, origin.variance, origin.mean)
    if origin.covariance is None:
        return moments, None
    return moments, shared_expectation(whole.value, origin.mean, origin.variance, origin.covariance, whole.kinks)


def _saturated(curve: Curve, origin: Origin) -> float | None:
    """Return the share of a normal variable for which the slope is below a tenth of its greatest."""
    if curve.active is None:
        return None
    if origin.variance <= 0:
        return 0.0 if curve.active[0] < origin.mean < curve.active[1] else 1.0
    low, high = (math.erf((edge - origin.mean) / math.sqrt(2 * origin.variance)) for edge in curve.active)
    return 1 - (high - low) / 2


def _identity(call: Call) -> Outcome:
    return Outcome(call.x, {0: 1.0})


def _cast(call: Call) -> Outcome:
    return _identity(call) if call.instance.node.output_types[0].is_float else Outcome(unknown("integers"), {0: 0.0})


def _dropout(call: Call) -> Outcome:
    """Scaling by 1/(1 − p) with probability 1 − p, which keeps the mean and the products of different samples."""
    op, x = call.op, call.x
    if not call.training or op.p == 0:
        return _identity(call)
    if op.p == 1:
        return Outcome(Signal(0.0, 0.0, 0.0), {0: 0.0})
    factor = 1 / (1 - op.p)
    square = None if x.square is None else x.square * factor
    together = call.op.name == "stochastic_depth" and op.mode == "batch"
    shared = square if together and x.shared is None else x.shared
    if together and x.shared is not None:
        shared = x.shared * factor
    return Outcome(replace(x, square=square, shared=shared, normal=False, origin=None, mixture=None), {0: factor})


# -- arithmetic -------------------------------------------------------------------------------------


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


RULES: dict[str, Rule] = {
    **dict.fromkeys(CURVES, _activation),
    "identity": _identity,
    "cast": _cast,
    "dropout": _dropout,
    "stochastic_depth": _dropout,
    "add": _sum,
    "sub": _sum,
    "mul": _multiple,
    "div": _multiple,
}
