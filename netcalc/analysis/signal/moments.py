"""Moments of an activation function of a normal variable.

The elements of a layer of a wide network are normally distributed at initialisation.  (Poole et al. 2016,
arXiv:1606.05340; Schoenholz et al. 2017, arXiv:1611.01232.)
"""

from __future__ import annotations

from typing import NamedTuple

from netcalc.analysis.signal.curves import Curve
from netcalc.analysis.signal.quadrature import expectation


class ActivationMoments(NamedTuple):
    """E[f(z)], E[f(z)²] and E[f′(z)²] of a normal z."""

    mean: float
    square: float
    slope: float


def activation_moments(curve: Curve, variance: float = 1.0, mean: float = 0.0) -> ActivationMoments:
    """Return the moments of a function of a normal variable."""
    return ActivationMoments(
        expectation(curve.value, mean, variance, curve.kinks),
        expectation(lambda x: curve.value(x) ** 2, mean, variance, curve.kinks),
        expectation(lambda x: curve.slope(x) ** 2, mean, variance, curve.kinks),
    )
