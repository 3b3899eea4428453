"""Intervals: lower and upper bounds of a size whose value is not known."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

Bound: TypeAlias = int | float  # exact; a float is ±infinity
Interval: TypeAlias = tuple[Bound, Bound]


def plus(a: Interval, b: Interval) -> Interval:
    """Return bounds of the sum."""
    return _sum(a[0], b[0]), _sum(a[1], b[1])


def times(a: Interval, b: Interval) -> Interval:
    """Return bounds of the product."""
    return _corners(_product, a, b)


def over(a: Interval, b: Interval) -> Interval:
    """Return bounds of ⌊a / b⌋; infinite ones unless ``b`` is positive."""
    return _corners(_quotient, a, b) if b[0] > 0 else (-math.inf, math.inf)


def log2(a: Interval) -> Interval:
    """Return bounds of ⌈log₂ a⌉."""
    return _ceil_log2(a[0]), _ceil_log2(a[1])


def _corners(function: Callable[[Bound, Bound], Bound], a: Interval, b: Interval) -> Interval:
    """Return the extremes of a function that is monotonic in each argument."""
    ends = [function(x, y) for x in a for y in b]
    return min(ends), max(ends)


def _sum(a: Bound, b: Bound) -> Bound:
    return a if isinstance(a, float) else b if isinstance(b, float) else a + b


def _product(a: Bound, b: Bound) -> Bound:
    if a == 0 or b == 0:
        return 0
    if isinstance(a, float) or isinstance(b, float):
        return math.inf if (a > 0) == (b > 0) else -math.inf
    return a * b


def _quotient(a: Bound, b: Bound) -> Bound:
    if isinstance(b, float):
        return 0 if a >= 0 else -1
    return a if isinstance(a, float) else a // b


def _ceil_log2(a: Bound) -> Bound:
    if isinstance(a, float):
        return max(a, 0)
    return (a - 1).bit_length() if a > 0 else 0
