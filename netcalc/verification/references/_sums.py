"""Sums in double precision, exact but for the final rounding, with the magnitude of their terms."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from netcalc.verification.references import Array, Value

__all__ = ["double", "mean", "plus", "total"]


def double(array: Any) -> Array:
    """Return an array in double precision."""
    return np.asarray(array).astype(np.float64)


def total(*factors: Any) -> Value:
    """Return the sum of the elements of the product of arrays of one shape."""
    terms = np.prod([double(factor).ravel() for factor in factors], axis=0)
    return Value(_sum(terms), _sum(np.abs(terms)))


def mean(array: Any) -> float:
    """Return the mean of the elements of an array."""
    return _sum(double(array).ravel()) / np.size(array) if np.size(array) else math.nan


def plus(value: Value, *others: Any) -> Value:
    """Return a sum with further terms; those that are None are absent."""
    terms = [value.value, *(float(other) for other in others if other is not None)]
    return Value(_sum(terms), value.magnitude + sum(map(abs, terms[1:])))


def _sum(terms: Iterable[float]) -> float:
    """Return the sum of numbers; that of infinities of both signs is NaN."""
    listed = [float(term) for term in terms]
    try:
        return math.fsum(listed)
    except (OverflowError, ValueError):  # of infinities, or beyond the largest double
        return sum(listed)
