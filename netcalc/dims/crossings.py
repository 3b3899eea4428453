"""Sizes at which one formula overtakes another, exactly where both are polynomials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import comb
from typing import NamedTuple

from netcalc.dims.atoms import Symbol
from netcalc.dims.polynomial import Dim

#: Greatest size at which a crossing of formulas that are no polynomials is looked for.
_FARTHEST = 1 << 40


class Crossing(NamedTuple):
    """A size from which on the first of two formulas is the greater one, until the next crossing."""

    size: int
    """The greatest size at which it is not greater yet."""
    equal: bool
    """True if both are equal there."""
    proved: bool
    """True if all crossings are known; False if they were looked for between powers of two."""


def crossings(first: Dim, second: Dim, name: str, least: int, most: int | None, multiple: int = 1) -> list[Crossing]:
    """Return the sizes behind which ``first`` becomes greater than ``second`` as ``name`` grows, from ``least`` on.

    Sizes are multiples of ``multiple``.

    >>> from netcalc.dims import symbol
    >>> n = symbol("n")
    >>> crossings(n * n, 100 * n, "n", 1, None)
    [Crossing(size=100, equal=True, proved=True)]
    """
    difference = first - second
    coefficients = _coefficients(difference, name)
    low, high = -(-least // multiple), None if most is None else most // multiple

    def value(number: int) -> Fraction | int:
        if coefficients is not None:
            return _at(coefficients, number * multiple)
        return difference if isinstance(difference, int) else difference.at({name: number * multiple})

    if coefficients is not None:
        own = [coefficient * multiple**power for power, coefficient in enumerate(coefficients)]
        changes = _changes(own, low, max(_bound(own), low) if high is None else high)
    else:
        changes = _searched(value, low, _FARTHEST if high is None else high)
    return [Crossing(number * multiple, value(number) == 0, coefficients is not None) for number in changes]


def _coefficients(dim: Dim, name: str) -> list[Fraction] | None:
    """Return the coefficients of a polynomial of one name, the constant first; None for a size of another form."""
    if isinstance(dim, int):
        return [Fraction(dim)]
    found: dict[int, Fraction] = {}
    for monomial, coefficient in dim.monomials():
        power, factor = 0, Fraction(coefficient)
        for atom, times in monomial:
            if not isinstance(atom, Symbol) or atom.name != name:
                return None
            power, factor = power + times, factor / atom.multiple**times
        found[power] = found.get(power, Fraction()) + factor
    return [found.get(power, Fraction()) for power in range(max(found) + 1)]


def _at(coefficients: Sequence[Fraction], size: int) -> Fraction:
    value = Fraction()
    for coefficient in reversed(coefficients):
        value = value * size + coefficient
    return value


def _bound(coefficients: Sequence[Fraction]) -> int:
    """Return a size above all real roots: that of Cauchy."""
    trimmed = _trimmed(coefficients)
    if len(trimmed) < 2:
        return 1
    return 2 + int(max(abs(coefficient / trimmed[-1]) for coefficient in trimmed[:-1]))


def _trimmed(coefficients: Sequence[Fraction]) -> list[Fraction]:
    trimmed = list(coefficients)
    while trimmed and trimmed[-1] == 0:
        trimmed.pop()
    return trimmed


def _changes(coefficients: Sequence[Fraction], low: int, high: int) -> list[int]:
    """Return every n in low…high−1 with a value of at most 0 at n and a positive one at n + 1.

    Between two sign changes of its differences a polynomial of whole numbers is monotone, so that each such run has at
    most one change, which bisection finds.
    """
    coefficients = _trimmed(coefficients)
    if len(coefficients) < 2 or high <= low:
        return []
    differences = _differences(coefficients)
    turns = sorted({*_changes(differences, low, high), *_changes([-c for c in differences], low, high)})
    ends = sorted({low, high, *(turn + 1 for turn in turns if low < turn + 1 < high)})
    found = []
    for start, end in pairwise(ends):
        if _at(coefficients, start) <= 0 < _at(coefficients, end):
            while end - start > 1:
                middle = (start + end) // 2
                start, end = (middle, end) if _at(coefficients, middle) <= 0 else (start, middle)
            found.append(start)
    return found


def _differences(coefficients: Sequence[Fraction]) -> list[Fraction]:
    """Return the coefficients of p(n + 1) − p(n)."""
    result = [Fraction()] * (len(coefficients) - 1)
    for power, coefficient in enumerate(coefficients):
        for lower in range(power):
            result[lower] += coefficient * comb(power, lower)
    return result


def _searched(value: Callable[[int], Fraction | int], low: int, high: int) -> list[int]:
    """Return changes of the sign between sizes of which each is up to 6 % greater than the one before."""
    found, start = [], low
    while start < high:
        end = min(high, start + 1 + start // 16)
        if value(start) <= 0 < value(end):
            a, b = start, end
            while b - a > 1:
                middle = (a + b) // 2
                a, b = (middle, b) if value(middle) <= 0 else (a, middle)
            found.append(a)
        start = end
    return found
