"""Tests of Kolmogorov and Smirnov, with the limit of their distribution for large samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def p_value(sample: Array, distribution: Callable[[float], float]) -> float:
    """Return the probability of a larger distance of a sample from its distribution function."""
    expected = np.array([distribution(x) for x in np.sort(sample, axis=None).tolist()])
    steps = np.arange(expected.size + 1) / expected.size
    return _probability(max((steps[1:] - expected).max(), (expected - steps[:-1]).max()), expected.size)


def p_value_of_two(first: Array, second: Array) -> float:
    """Return the probability of a larger distance of two samples of one distribution."""
    numbers = np.concatenate([first.ravel(), second.ravel()])
    shares = [np.searchsorted(np.sort(x, axis=None), numbers, "right") / x.size for x in (first, second)]
    return _probability(np.abs(shares[0] - shares[1]).max(), first.size * second.size / numbers.size)


def _probability(distance: float, size: float) -> float:
    return 2 * sum((-1) ** (k - 1) * math.exp(-2 * k * k * size * distance * distance) for k in range(1, 101))
