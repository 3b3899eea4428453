"""Bounds of sums of terms, from the limits of named sizes and from the meaning of atoms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from netcalc.dims import intervals
from netcalc.dims.atoms import Atom, Call, Symbol
from netcalc.dims.intervals import Bound, Interval
from netcalc.dims.terms import Monomial, Terms, multiply, quotient, terms_of, total

#: Atoms that are replaced by what bounds them before the plain intervals of the rest are taken.
_MAX_REPLACED = 6
#: Most terms of a sum that is expanded about the least values of its atoms.
_MAX_EXPANDED = 16


def bounds_of_terms(terms: Terms) -> Interval:
    """Return a lower and an upper bound of the sum."""
    return _least(terms, 0), -_least({monomial: -c for monomial, c in terms.items()}, 0)


def is_at_least(terms: Terms, number: int) -> bool:
    """Return True if the lower bound of the sum is at least a number.

    It is found without the bound itself, as the first proof is enough.
    """
    return _reaches(terms, number, 0, {})


def _reaches(terms: Terms, number: int, replaced: int, known: dict[object, bool]) -> bool:
    """Return True if :func:`_least` is at least a number; ``known`` has answers by terms, number and replacements."""
    key = frozenset(terms.items()), number, replaced
    if key not in known:
        known[key] = _bounds_by_atom(terms)[0] >= number or _reaches_otherwise(terms, number, replaced, known)
    return known[key]


def _reaches_otherwise(terms: Terms, number: int, replaced: int, known: dict[object, bool]) -> bool:
    term = _replaceable(terms) if replaced < _MAX_REPLACED and len(terms) > 1 else None
    if term is None:
        return _least(terms, replaced) >= number
    monomial, call, coefficient = term
    rest = {m: c for m, c in terms.items() if m != monomial}
    if call.function == "//":
        divisor, numerator = _without_floor(rest, call, coefficient)
        return _reaches(numerator, (number - 1) * divisor + 1, replaced + 1, known)
    some = any if _is_greatest(call, coefficient) else all
    return some(_reaches(without, number, replaced + 1, known) for without in _without_extreme(rest, call, coefficient))


def _least(terms: Terms, replaced: int) -> Bound:
    """Return a lower bound of the sum.

    Intervals ignore that an atom and a size vary together, as in h − ⌊h/2⌋. Therefore an atom of the first degree is
    replaced: ⌊a/b⌋ lies between (a − b + 1)/b and a/b, and min(a, b) is a or b and at most both.
    """
    plain = _bounds_by_atom(terms)[0]
    term = _replaceable(terms) if replaced < _MAX_REPLACED and len(terms) > 1 else None
    if term is None:
        extremes = (_at_ends(terms) or _without_remainder(terms)) if plain == -math.inf else []
        return min((_least(_nonzero(extreme), replaced) for extreme in extremes), default=plain)
    monomial, call, coefficient = term
    rest = {m: c for m, c in terms.items() if m != monomial}
    without = _least_without_floor if call.function == "//" else _least_without_extreme
    return max(plain, without(rest, call, coefficient, replaced + 1))


def _bounds_by_atom(terms: Terms) -> Interval:
    """Return bounds of the sum from intervals of its atoms."""
    bounds = _interval(terms, {})
    if 1 < len(terms) <= _MAX_EXPANDED and any(len(m) > 1 or (m and m[0][1] > 1) for m in terms):
        # h·w − h varies with h in both terms: with h = 1 + h′ and w = 1 + w′ it is h′·w′ + w′
        least = {factor: factor.bounds()[0] for monomial in terms for factor, _ in monomial}
        integers = {factor: low for factor, low in least.items() if isinstance(low, int)}
        excess = _interval(_with_excesses(terms, integers), integers)
        bounds = max(bounds[0], excess[0]), min(bounds[1], excess[1])
    return bounds


def _interval(terms: Terms, least: Mapping[Atom, int]) -> Interval:
    """Return bounds of the sum, where a factor stands for its excess over a least value."""
    sums: Interval = (0, 0)
    for monomial, coefficient in terms.items():
        term: Interval = (coefficient, coefficient)
        for factor, power in monomial:
            bounds = intervals.plus(factor.bounds(), (-least[factor],) * 2) if factor in least else factor.bounds()
            for _ in range(power):
                term = intervals.times(term, bounds)
        sums = intervals.plus(sums, term)
    return sums


def _with_excesses(terms: Terms, least: Mapping[Atom, int]) -> Terms:
    """Return the sum with these factors replaced by their least value plus an excess, which the factor stands for."""
    expanded: Terms = {}
    for monomial, coefficient in terms.items():
        term: Terms = _constant(coefficient)
        for factor, power in monomial:
            for _ in range(power):
                term = multiply(term, {((factor, 1),): 1, (): least.get(factor, 0)})
        expanded = total(expanded, term)
    return _nonzero(expanded)


def _at_ends(terms: Terms) -> list[Terms]:
    """Return a sum at both ends of a size in which it is linear and that is limited by another; empty if there is none.

    j·w − i has its least value at i = 0 or, if i is at most w − 1, at that.
    """
    for factor in _factors(terms):
        if isinstance(factor, Symbol) and factor.limit is not None:
            rest, slope = _split(terms, factor)
            if not any(factor in one.symbols() for one in _factors(rest) | _factors(slope)):
                return [total(rest, multiply(slope, end)) for end in (_constant(factor.least), terms_of(factor.limit))]
    return []


def _without_remainder(terms: Terms) -> list[Terms]:
    """Return a sum with a bound in place of a multiple of b·⌊a/b⌋, which is from a − b + 1 to a; empty if none."""
    for factor in _factors(terms):
        if isinstance(factor, Call) and factor.function == "//":
            dividend, divisor = map(terms_of, factor.operands)
            rest, slope = _split(terms, factor)
            multiple = quotient(slope, divisor)
            if multiple is not None and multiple.keys() == {()} and _bounds_by_atom(divisor)[0] > 0:
                least = dividend if multiple[()] < 0 else total(total(dividend, divisor, -1), _constant(1))
                return [total(rest, least, multiple[()])]
    return []


def _factors(terms: Terms) -> dict[Atom, None]:
    return {factor: None for monomial in terms for factor, _ in monomial}


def _split(terms: Terms, factor: Atom) -> tuple[Terms, Terms]:
    """Return ``rest`` and ``slope`` of the sum rest + slope · factor."""
    rest: dict[Monomial, int] = {}
    slope: dict[Monomial, int] = {}
    for monomial, coefficient in terms.items():
        others = tuple(power for power in monomial if power != (factor, 1))
        (rest if others == monomial else slope)[others] = coefficient
    return rest, slope


def _replaceable(terms: Terms) -> tuple[Monomial, Call, int] | None:
    """Return a term that is a number times ⌊a/b⌋ with a number b, min or max; None if there is none.

    Minima are replaced before maxima, as the sum has its least value with every operand of a minimum, and with the
    best of a maximum, which may differ between the operands of a minimum.
    """
    candidates = [
        (monomial, monomial[0][0], coefficient)
        for monomial, coefficient in terms.items()
        if len(monomial) == 1 and monomial[0][1] == 1 and isinstance(monomial[0][0], Call)
    ]
    candidates = [term for term in candidates if term[1].function != "//" or isinstance(term[1].operands[1], int)]
    return min(
        candidates, key=lambda term: (term[1].function == "//") + 2 * _is_greatest(term[1], term[2]), default=None
    )


def _is_greatest(call: Call, coefficient: int) -> bool:
    """Return True if a number times a min or max is the greatest of its operands times the number."""
    return call.function == ("max" if coefficient > 0 else "min")


def _least_without_floor(rest: Terms, call: Call, coefficient: int, replaced: int) -> Bound:
    divisor, numerator = _without_floor(rest, call, coefficient)
    least = _least(numerator, replaced)
    return least if isinstance(least, float) else -(-least // divisor)


def _without_floor(rest: Terms, call: Call, coefficient: int) -> tuple[int, Terms]:
    """Return b and b times the sum, for (a − b + 1)/b in place of ⌊a/b⌋, or for a/b if the coefficient is negative."""
    dividend, divisor = call.operands
    assert isinstance(divisor, int)
    numerator = total(multiply(rest, _constant(divisor)), multiply(terms_of(dividend), _constant(coefficient)))
    return divisor, _nonzero(total(numerator, _constant(min(-coefficient * (divisor - 1), 0))))


def _least_without_extreme(rest: Terms, call: Call, coefficient: int, replaced: int) -> Bound:
    bounds = [_least(without, replaced) for without in _without_extreme(rest, call, coefficient)]
    return max(bounds) if _is_greatest(call, coefficient) else min(bounds)


def _without_extreme(rest: Terms, call: Call, coefficient: int) -> Iterator[Terms]:
    """Yield the sum with each operand in place of a min or max."""
    number = _constant(coefficient)
    yield from (_nonzero(total(rest, multiply(terms_of(operand), number))) for operand in call.operands)


def _constant(value: int) -> Terms:
    return {(): value}


def _nonzero(terms: Terms) -> Terms:
    return {monomial: c for monomial, c in terms.items() if c}
