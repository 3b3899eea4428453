"""Bounds of sums of terms, from the limits of named sizes and from the meaning of atoms."""

from __future__ import annotations

from collections.abc import Mapping

from netcalc.dims import intervals
from netcalc.dims.atoms import Atom, Call
from netcalc.dims.intervals import Bound, Interval
from netcalc.dims.terms import Monomial, Terms, multiply, terms_of, total

__all__ = ["bounds_of_terms"]

#: Atoms that are replaced by what bounds them before the plain intervals of the rest are taken.
_MAX_REPLACED = 6
#: Most terms of a sum that is expanded about the least values of its atoms.
_MAX_EXPANDED = 16


def bounds_of_terms(terms: Terms, replaced: int = 0) -> Interval:
    """Return a lower and an upper bound of the sum.

    Intervals ignore that an atom and a size vary together, as in h − ⌊h/2⌋. Therefore an atom of the first degree is
    replaced: ⌊a/b⌋ lies between (a − b + 1)/b and a/b, and min(a, b) is a or b and at most both.
    """
    plain = _plain(terms)
    found = _replaceable(terms) if replaced < _MAX_REPLACED and len(terms) > 1 else None
    if found is None:
        return plain
    monomial, call, coefficient = found
    rest = {m: c for m, c in terms.items() if m != monomial}
    if call.function == "//":
        tight = _without_floor(rest, call, coefficient, replaced + 1)
    else:
        tight = _without_extreme(rest, call, coefficient, replaced + 1)
    return max(plain[0], tight[0]), min(plain[1], tight[1])


def _plain(terms: Terms) -> Interval:
    """Return bounds of the sum from intervals of its atoms."""
    bounds = _interval(terms, {})
    if 1 < len(terms) <= _MAX_EXPANDED and any(len(m) > 1 or (m and m[0][1] > 1) for m in terms):
        # h·w − h varies with h in both terms: with h = 1 + h′ and w = 1 + w′ it is h′·w′ + w′
        least = {factor: factor.bounds()[0] for monomial in terms for factor, _ in monomial}
        whole = {factor: low for factor, low in least.items() if isinstance(low, int)}
        excess = _interval(_expanded(terms, whole), whole)
        bounds = max(bounds[0], excess[0]), min(bounds[1], excess[1])
    return bounds


def _interval(terms: Terms, least: Mapping[Atom, int]) -> Interval:
    """Return bounds of the sum, where a factor stands for its excess over a least value."""
    bounds: Interval = (0, 0)
    for monomial, coefficient in terms.items():
        term: Interval = (coefficient, coefficient)
        for factor, power in monomial:
            one = intervals.plus(factor.bounds(), (-least[factor],) * 2) if factor in least else factor.bounds()
            for _ in range(power):
                term = intervals.times(term, one)
        bounds = intervals.plus(bounds, term)
    return bounds


def _expanded(terms: Terms, least: Mapping[Atom, int]) -> Terms:
    """Return the sum with these factors replaced by their least value plus an excess, which the factor stands for."""
    expanded: Terms = {}
    for monomial, coefficient in terms.items():
        term: Terms = _number(coefficient)
        for factor, power in monomial:
            for _ in range(power):
                term = multiply(term, {((factor, 1),): 1, (): least.get(factor, 0)})
        expanded = total(expanded, term)
    return _kept(expanded)


def _replaceable(terms: Terms) -> tuple[Monomial, Call, int] | None:
    """Return a term that is a number times ⌊a/b⌋ with a number b, min or max; None if there is none."""
    for monomial, coefficient in terms.items():
        if len(monomial) == 1 and monomial[0][1] == 1:
            one: Atom = monomial[0][0]
            if isinstance(one, Call) and (one.function != "//" or isinstance(one.operands[1], int)):
                return monomial, one, coefficient
    return None


def _without_floor(rest: Terms, call: Call, coefficient: int, replaced: int) -> Interval:
    dividend, divisor = call.operands
    assert isinstance(divisor, int)
    # b times the sum, for a/b
    whole = total(multiply(rest, _number(divisor)), multiply(terms_of(dividend), _number(coefficient)))
    least = total(whole, {(): -coefficient * (divisor - 1)})
    low, high = (least, whole) if coefficient > 0 else (whole, least)
    return (
        _ceil_quotient(bounds_of_terms(_kept(low), replaced)[0], divisor),
        _quotient(bounds_of_terms(_kept(high), replaced)[1], divisor),
    )


def _without_extreme(rest: Terms, call: Call, coefficient: int, replaced: int) -> Interval:
    number = _number(coefficient)
    bounds = [bounds_of_terms(_kept(total(rest, multiply(terms_of(one), number))), replaced) for one in call.operands]
    # the sum is the greatest of these if the atom counts as a maximum, else the smallest
    pick = max if (call.function == "max") == (coefficient > 0) else min
    return pick(low for low, _ in bounds), pick(high for _, high in bounds)


def _number(value: int) -> Terms:
    return {(): value}


def _kept(terms: Terms) -> Terms:
    return {monomial: c for monomial, c in terms.items() if c}


def _quotient(bound: Bound, divisor: int) -> Bound:
    return bound if isinstance(bound, float) else bound // divisor


def _ceil_quotient(bound: Bound, divisor: int) -> Bound:
    return bound if isinstance(bound, float) else -(-bound // divisor)
