"""Distributions of sums of a normal variable and an activation, as after the additions of residual networks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from netcalc.analysis.signal.curves import Curve
from netcalc.analysis.signal.mean_field import ActivationMoments
from netcalc.analysis.signal.quadrature import density, weighted_nodes

#: Share of the whole variance that the normal part needs, so that its density is smooth between the atoms.
_SMOOTH = 0.02
_CUT = 8.0


class Mixture(NamedTuple):
    """The sum of a discrete variable, given by values with probabilities, and a normal one independent of it."""

    atoms: tuple[tuple[float, float], ...]
    mean: float = 0.0
    variance: float = 0.0

    def times(self, factor: float) -> Mixture:
        """Return the variable times a number."""
        atoms = tuple((factor * value, weight) for value, weight in self.atoms)
        return Mixture(atoms, factor * self.mean, factor * factor * self.variance)

    def plus(self, mean: float, variance: float = 0.0) -> Mixture:
        """Return the sum with an independent normal variable."""
        return self._replace(mean=self.mean + mean, variance=self.variance + variance)

    @property
    def smooth(self) -> bool:
        """True if the normal part is wide enough for quadrature."""
        mean = sum(value * weight for value, weight in self.atoms)
        spread = sum((value - mean) ** 2 * weight for value, weight in self.atoms)
        return self.variance > _SMOOTH * (spread + self.variance)


def discrete(curve: Curve, mean: float, variance: float) -> Mixture:
    """Return a function of a normal variable as values with probabilities."""
    nodes = weighted_nodes(-_CUT, _CUT, 0.5, [(kink - mean) / math.sqrt(variance) for kink in curve.kinks])
    return _merge_equal((curve.value(mean + math.sqrt(variance) * z), weight * density(z)) for z, weight in nodes)


def applied(curve: Curve, mixture: Mixture) -> tuple[ActivationMoments, Mixture]:
    """Return the moments of an activation function of a mixture, and its values with their probabilities."""
    deviation = math.sqrt(mixture.variance)
    values = [value for value, _ in mixture.atoms]
    low, high = (end + mixture.mean for end in (min(values), max(values)))
    nodes = [
        (
            s,
            weight * sum(p * density((s - mixture.mean - value) / deviation) for value, p in mixture.atoms) / deviation,
        )
        for s, weight in weighted_nodes(low - _CUT * deviation, high + _CUT * deviation, deviation, curve.kinks)
    ]
    points = [(curve.value(s), curve.slope(s), weight) for s, weight in nodes]
    moments = ActivationMoments(
        sum(value * weight for value, _, weight in points),
        sum(value * value * weight for value, _, weight in points),
        sum(slope * slope * weight for _, slope, weight in points),
    )
    return moments, _merge_equal((value, weight) for value, _, weight in points)


def _merge_equal(atoms: Iterable[tuple[float, float]]) -> Mixture:
    """Return the atoms, with equal values merged, and without atoms of weight 0."""
    weights: dict[float, float] = {}
    for value, weight in atoms:
        weights[value] = weights.get(value, 0.0) + weight
    return Mixture(tuple((value, weight) for value, weight in weights.items() if weight > 1e-14))
