"""Sums in double precision, exact but for the final rounding, with the magnitude of their terms."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from netcalc.verification.references import Array, Value


def double(array: Any) -> Array:
    """Return an array in double precision."""
    plain = np.asarray(array)
    return plain.astype(np.complex128 if plain.dtype.kind == "c" else np.float64)


def total(*factors: Any) -> Value:
    """Return the sum of the elements of the product of arrays of one shape."""
    terms = np.prod([double(factor).ravel() for factor in factors], axis=0)
    return Value(_sum_of(terms), exact_sum(np.abs(terms)))


def mean(array: Any) -> float:
    """Return the mean of the elements of an array."""
    return exact_sum(double(array).ravel()) / np.size(array) if np.size(array) else math.nan


def plus(value: Value, *others: Any) -> Value:
    """Return a sum with further terms; those that are None are absent."""
    terms = [value.value, *(double(other).item() for other in others if other is not None)]
    return Value(_sum_of(terms), value.magnitude + sum(map(abs, terms[1:])))


def _sum_of(numbers: Iterable[Any]) -> Any:
    """Return the sum of real or complex numbers."""
    listed = list(numbers)
    if any(isinstance(number, complex) for number in listed):
        return complex(exact_sum(number.real for number in listed), exact_sum(number.imag for number in listed))
    return exact_sum(listed)


def exact_sum(terms: Iterable[float]) -> float:
    """Return the sum of numbers; NaN for infinities of both signs."""
    listed = [float(term) for term in terms]
    try:
        return math.fsum(listed)
    except (OverflowError, ValueError):  # of infinities, or beyond the largest double
        return sum(listed)


def sum_of_products(dtype: Any, *factors: Any) -> Any:
    """Return the sum of products in an element type: a :class:`Value`, or an integer that wraps around."""
    if dtype.kind not in "iub":
        return total(*factors)
    lists = [np.asarray(factor).ravel().tolist() for factor in factors]
    return wrapped(sum(math.prod(map(int, terms)) for terms in zip(*lists, strict=True)), dtype)


def product(dtype: Any, factors: Any) -> Any:
    """Return the product of elements in an element type."""
    listed = np.asarray(factors).ravel().tolist()
    return math.prod(listed) if dtype.kind not in "iub" else wrapped(math.prod(map(int, listed)), dtype)


def wrapped(number: int, dtype: Any) -> int:
    """Return an integer modulo the range of its element type."""
    if dtype.kind == "b":
        return int(number != 0)
    size: int = 1 << (8 * int(dtype.itemsize))
    low = 0 if dtype.kind == "u" else -(size // 2)
    return (number - low) % size + low


def standardized(element: Any, among: Any, eps: float, weight: Any = None, bias: Any = None) -> Value:
    """Return (x − mean)/√(variance + eps) · weight + bias, with the statistics of the elements ``among``."""
    elements, own = double(among).ravel(), float(element)
    middle = mean(elements)
    spread = mean((elements - middle) ** 2)
    factor = float(np.float64(1) / np.sqrt(spread + eps)) * (1.0 if weight is None else float(weight))
    shift = 0.0 if bias is None else float(bias)
    magnitude = (abs(own) + mean(np.abs(elements))) * abs(factor) + abs(shift)
    return Value((own - middle) * factor + shift, magnitude)
