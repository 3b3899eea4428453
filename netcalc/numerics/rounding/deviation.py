"""Deviation of numbers from what they should be: relative error, ratio of signal to noise, cosine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from math import inf, log10, nan, sqrt

import numpy as np

from netcalc.arrays import Array
from netcalc.results import Real

#: Elements that are compared at a time, in float64.
_PART = 1 << 20


@dataclass(frozen=True, slots=True)
class Deviation:
    """Sums over the elements of tensors, from which the measures follow.

    ``signal`` and ``found`` are sums of squares, of the true and of the other numbers, and ``noise`` the sum for their
    differences; ``product`` is the sum of products.  Elements that are infinite or no number in both, and equal, are
    left out; if they differ, noise and difference are infinite.
    """

    elements: int = 0
    signal: float = 0.0
    found: float = 0.0
    noise: float = 0.0
    product: float = 0.0
    greatest: Real = 0.0
    """The greatest absolute difference."""

    @classmethod
    def of(cls, true: Array, other: Array) -> Deviation:
        """Return the deviation of a tensor from another of the same shape."""
        first, second = true.reshape(-1), other.reshape(-1)
        return cls.together(
            cls._piece_deviation(first[start : start + _PART], second[start : start + _PART])
            for start in range(0, first.size, _PART)
        )

    @classmethod
    def together(cls, parts: Iterable[Deviation]) -> Deviation:
        """Return the deviation of several tensors together."""
        return reduce(cls._plus, parts, cls())

    @classmethod
    def _piece_deviation(cls, true: Array, other: Array) -> Deviation:
        x, y = true.astype(np.float64), other.astype(np.float64)
        with np.errstate(invalid="ignore"):
            finite = np.isfinite(x) & np.isfinite(y)
            same = (x == y) | (np.isnan(x) & np.isnan(y))
        if not finite.all():
            if not same[~finite].all():
                return cls(true.size, 0.0, 0.0, inf, 0.0, inf)
            x, y = x[finite], y[finite]
        difference = y - x
        return cls(
            true.size,
            float(x @ x),
            float(y @ y),
            float(difference @ difference),
            float(x @ y),
            float(np.abs(difference).max(initial=0)),
        )

    def _plus(self, other: Deviation) -> Deviation:
        return Deviation(
            self.elements + other.elements,
            self.signal + other.signal,
            self.found + other.found,
            self.noise + other.noise,
            self.product + other.product,
            max(self.greatest, other.greatest),
        )

    @property
    def relative(self) -> Real:
        """Root mean square of the differences, over the root mean square of the values in full precision."""
        if not self.noise:
            return 0.0
        return sqrt(self.noise / self.signal) if self.signal else inf

    @property
    def decibels(self) -> Real:
        """Ratio of signal to noise, 10·log₁₀(Σx²/Σ(y − x)²); infinite without a difference."""
        if not self.noise:
            return inf
        return 10 * log10(self.signal / self.noise) if self.signal and self.noise < inf else -inf

    @property
    def cosine(self) -> Real:
        """Cosine of the angle between both; NaN if one is zero."""
        scale = sqrt(self.signal) * sqrt(self.found)
        return min(self.product / scale, 1.0) if scale and self.noise < inf else nan
