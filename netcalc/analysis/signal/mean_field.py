"""Mean-field theory of one activation function: moments, variances, correlations and the edge of chaos.

A layer is z = W·f(z′) + b with independent weights of variance σ_w²/fan_in and biases of variance σ_b².  In a wide
network the elements of z are normally distributed; their variance is q.  (Poole et al. 2016, arXiv:1606.05340;
Schoenholz et al. 2017, arXiv:1611.01232.)
"""

from __future__ import annotations

import math
from typing import NamedTuple

from netcalc.analysis.signal.curves import Curve
from netcalc.analysis.signal.quadrature import expectation, shared_expectation

_STEPS = 10_000


class ActivationMoments(NamedTuple):
    """E[f(z)], E[f(z)²] and E[f′(z)²] of a normal z."""

    mean: float
    square: float
    slope: float


class Critical(NamedTuple):
    """The edge of chaos: the σ_w² at which χ is 1, and the fixed point q* there."""

    weight_variance: float
    fixed_point: float


def activation_moments(curve: Curve, variance: float = 1.0, mean: float = 0.0) -> ActivationMoments:
    """Return the moments of a function of a normal variable."""
    return ActivationMoments(
        expectation(curve.value, mean, variance, curve.kinks),
        expectation(lambda x: curve.value(x) ** 2, mean, variance, curve.kinks),
        expectation(lambda x: curve.slope(x) ** 2, mean, variance, curve.kinks),
    )


class MeanField(NamedTuple):
    """Equal layers of an activation function, with ``weight_variance`` σ_w² and ``bias_variance`` σ_b²."""

    curve: Curve
    weight_variance: float
    bias_variance: float = 0.0

    def length(self, q: float) -> float:
        """Return the variance of z in the next layer: σ_w²·E[f(z)²] + σ_b²."""
        return self.weight_variance * activation_moments(self.curve, q).square + self.bias_variance

    def fixed_point(self, start: float = 1.0) -> float:
        """Return q*, to which the variance tends from ``start``; infinity if it grows without limit."""
        q = start
        for _ in range(_STEPS):
            following = self.length(q)
            if abs(following - q) <= 1e-13 * max(q, 1e-30):
                return following
            if following > 1e12:
                return math.inf
            if following < 1e-12:
                return 0.0
            q = following
        return q

    def chi(self, q: float) -> float:
        """Return χ = σ_w²·E[f′(z)²], by which a layer multiplies the square of the norm of gradients."""
        return self.weight_variance * activation_moments(self.curve, q).slope

    def correlation(self, c: float, q: float) -> float:
        """Return the correlation of z in the next layer for two inputs of variance q that correlate by ``c`` ≥ 0."""
        shared = shared_expectation(self.curve.value, 0.0, q, c * q, self.curve.kinks)
        return (self.weight_variance * shared + self.bias_variance) / self.length(q)

    def correlation_slope(self, c: float, q: float) -> float:
        """Return the derivative of the map of correlations; at c = 1 and q = q* it is χ."""
        shared = shared_expectation(self.curve.slope, 0.0, q, c * q, self.curve.kinks)
        return self.weight_variance * shared * q / self.length(q)


def edge_of_chaos(curve: Curve, bias_variance: float) -> Critical:
    """Return the edge of chaos by bisection of the fixed point.

    For a given q* the weight variance 1/E[f′(z)²] makes χ 1, and the q* is sought that it has as its fixed point.

    Raises:
        ValueError: there is none between q* = 10⁻⁶ and 10⁶.
    """

    def excess(q: float) -> float:
        moments = activation_moments(curve, q)
        return moments.square / moments.slope + bias_variance - q

    low, high = 1e-6, 1e6
    if excess(low) <= 0 or excess(high) >= 0:
        raise ValueError(f"{curve.name} has no edge of chaos at a bias variance of {bias_variance:g}")
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    q = math.sqrt(low * high)
    return Critical(1 / activation_moments(curve, q).slope, q)
