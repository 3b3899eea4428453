"""Expectations of functions of normally distributed variables, by Gauss–Legendre quadrature in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import TypeAlias

Curve1: TypeAlias = Callable[[float], float]

#: Deviations at which the normal density is cut off; it is below 10⁻¹⁷ there.
_CUT = 9.0
#: Distances from a kink, or from zero, between which functions are smooth.
_STEPS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_POINTS = 10
_OUTER_POINTS = 6


def expectation(function: Curve1, mean: float, variance: float, kinks: Sequence[float] = (0.0,)) -> float:
    """Return E[f(z)] for a normal z; ``kinks`` are the places where f or its derivative jumps.

    >>> round(expectation(lambda x: x * x, 0.0, 2.0), 12)
    2.0
    """
    if variance <= 0:
        return function(mean)
    deviation = math.sqrt(variance)
    edges = {float(unit) for unit in range(-int(_CUT), int(_CUT) + 1)}
    for kink in kinks:
        center = (kink - mean) / deviation
        edges |= {center, *(center + sign * step / deviation for step in _STEPS for sign in (-1, 1))}
    inside = sorted(edge for edge in edges if -_CUT <= edge <= _CUT)
    return sum(
        weight * density(z) * function(mean + deviation * z) for z, weight in _composite(inside, _nodes(_POINTS))
    )


def shared_expectation(
    function: Curve1, mean: float, variance: float, covariance: float, kinks: Sequence[float]
) -> float:
    """Return E[f(z₁)·f(z₂)] for normal variables of one mean and variance, and a covariance of at least 0.

    Both are a common part, of which the covariance is the variance, and independent rests: the product of expectations
    given the common part is integrated over it.
    """
    covariance = min(max(covariance, 0.0), variance)
    if covariance == variance:
        return expectation(lambda x: function(x) ** 2, mean, variance, kinks)
    rest, common = variance - covariance, math.sqrt(covariance)
    if common == 0.0:
        return expectation(function, mean, variance, kinks) ** 2
    edges = [float(unit) for unit in range(-int(_CUT), int(_CUT) + 1)]
    return sum(
        weight * density(a) * expectation(function, mean + common * a, rest, kinks) ** 2
        for a, weight in _composite(edges, _nodes(_OUTER_POINTS))
    )


def weighted_nodes(low: float, high: float, step: float, kinks: Sequence[float]) -> list[tuple[float, float]]:
    """Return abscissae and weights between two limits, in panels of about ``step`` that end at the kinks."""
    panels = max(1, math.ceil((high - low) / step))
    edges = {low + (high - low) * number / panels for number in range(panels + 1)}
    edges |= {kink for kink in kinks if low < kink < high}
    return list(_composite(sorted(edges), _nodes(_OUTER_POINTS)))


def density(z: float) -> float:
    """Return the density of the standard normal distribution."""
    return math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)


def _composite(edges: Sequence[float], nodes: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Yield abscissae and weights of the rule applied between neighboring edges."""
    for low, high in pairwise(edges):
        half, middle = (high - low) / 2, (high + low) / 2
        if half > 0:
            yield from ((middle + half * x, half * weight) for x, weight in nodes)


@cache
def _nodes(count: int) -> tuple[tuple[float, float], ...]:
    """Return abscissae and weights of Gauss–Legendre quadrature on [−1, 1], by Newton's method."""
    pairs = []
    for number in range(count):
        x = math.cos(math.pi * (number + 0.75) / (count + 0.5))
        slope = 1.0
        for _ in range(50):
            before, value = 1.0, x
            for degree in range(2, count + 1):
                before, value = value, ((2 * degree - 1) * x * value - (degree - 1) * before) / degree
            slope = count * (x * value - before) / (x * x - 1)
            step = value / slope
            x -= step
            if abs(step) < 1e-16:
                break
        pairs.append((x, 2 / ((1 - x * x) * slope * slope)))
    return tuple(pairs)
