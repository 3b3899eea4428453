"""Bounds of sums of terms, from the limits of named sizes and from the meaning of atoms."""

from __future__ import annotations

import math

from netcalc.dims import intervals
from netcalc.dims.atoms import Atom, Call, Operand
from netcalc.dims.intervals import Bound, Interval
from netcalc.dims.terms import Monomial, Terms, multiply, total

__all__ = ["bounds_of_terms"]

#: Atoms that are replaced by what bounds them before the plain intervals of the rest are taken.
_MAX_REPLACED = 6


def bounds_of_terms(terms: Terms, replaced: int = 0) -> Interval:
    """Return a lower and an upper bound of the sum.

    Intervals ignore that an atom and a size vary together, as in h − ⌊h/2⌋. Where they leave a side unbounded, an atom
    of the first degree is replaced: ⌊a/b⌋ lies between (a − b + 1)/b and a/b, and min(a, b) is a or b and at most both.
    """
    plain = _plain(terms)
    if replaced >= _MAX_REPLACED or not (math.isinf(plain[0]) or math.isinf(plain[1])):
        return plain
    found = _replaceable(terms)
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
    bounds: Interval = (0, 0)
    for monomial, coefficient in terms.items():
        term: Interval = (coefficient, coefficient)
        for factor, power in monomial:
            for _ in range(power):
                term = intervals.times(term, factor.bounds())
        bounds = intervals.plus(bounds, term)
    return bounds


def _replaceable(terms: Terms) -> tuple[Monomial, Call, int] | None:
    """Return a term that is a number times ⌊a/b⌋ with a number b, min or max; None if there is none."""
    for monomial, coefficient in terms.items():
        if len(monomial) == 1 and monomial[0][1] == 1:
            one: Atom = monomial[0][0]
            if isinstance(one, Call) and (one.function != "//" or isinstance(one.right, int)):
                return monomial, one, coefficient
    return None


def _without_floor(rest: Terms, call: Call, coefficient: int, replaced: int) -> Interval:
    assert isinstance(call.right, int)
    divisor, number = call.right, _number(coefficient)
    whole = total(multiply(rest, _number(divisor)), multiply(_terms(call.left), number))  # b times the sum, for a/b
    least = total(whole, {(): -coefficient * (divisor - 1)})
    low, high = (least, whole) if coefficient > 0 else (whole, least)
    return (
        _ceil_quotient(bounds_of_terms(_kept(low), replaced)[0], divisor),
        _quotient(bounds_of_terms(_kept(high), replaced)[1], divisor),
    )


def _without_extreme(rest: Terms, call: Call, coefficient: int, replaced: int) -> Interval:
    number = _number(coefficient)
    sides = (call.left, call.right)
    (low1, high1), (low2, high2) = (
        bounds_of_terms(_kept(total(rest, multiply(_terms(side), number))), replaced) for side in sides
    )
    # the sum is the greater of the two if the atom counts as a maximum, else the smaller
    pick = max if (call.function == "max") == (coefficient > 0) else min
    return pick(low1, low2), pick(high1, high2)


def _number(value: int) -> Terms:
    return {(): value}


def _terms(operand: Operand) -> Terms:
    return _number(operand) if isinstance(operand, int) else dict(operand.monomials())


def _kept(terms: Terms) -> Terms:
    return {monomial: c for monomial, c in terms.items() if c}


def _quotient(bound: Bound, divisor: int) -> Bound:
    return bound if isinstance(bound, float) else bound // divisor


def _ceil_quotient(bound: Bound, divisor: int) -> Bound:
    return bound if isinstance(bound, float) else -(-bound // divisor)
