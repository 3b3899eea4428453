"""Sizes under assumptions of divisibility."""

from __future__ import annotations

from collections.abc import Iterable

from netcalc.dims.atoms import Atom, Call
from netcalc.dims.functions import assumed_multiples
from netcalc.dims.order import Assumption
from netcalc.dims.polynomial import Dim, Poly, as_dim, exact_div
from netcalc.dims.terms import Monomial


def joined(size: Dim) -> Dim:
    """Return an equal size in which the turns of a period are one: ⌊n/2⌋ + ⌊(n + 1)/2⌋ is n.

    It is Hermite's identity: the sum of ⌊(n + k)/p⌋ over k from 0 to p − 1.

    >>> from netcalc.dims import symbol
    >>> n = symbol("n")
    >>> str(joined(5 * (n // 2) + 3 * ((n + 1) // 2)))
    '3*n + 2*(n//2)'
    """
    if isinstance(size, int):
        return size
    turns: dict[tuple[Monomial, Dim, int], dict[int, int]] = {}
    for monomial, coefficient in size.monomials():
        quotients = [
            atom for atom, power in monomial if isinstance(atom, Call) and atom.function == "//" and power == 1
        ]
        if len(quotients) == 1 and isinstance(quotients[0].operands[1], int):
            dividend, period = as_dim(quotients[0].operands[0]), quotients[0].operands[1]
            constant = next((c for powers, c in dividend.monomials() if not powers), 0)  # type: ignore[union-attr]
            others = tuple(item for item in monomial if item[0] is not quotients[0])
            turns.setdefault((others, dividend - constant, period), {})[constant] = coefficient
    for (others, dividend, period), by_constant in turns.items():
        if len(by_constant) < period:  # which may be a large number
            continue
        coefficients = [by_constant.get(constant, 0) for constant in range(period)]
        if all(c > 0 for c in coefficients) or all(c < 0 for c in coefficients):
            least = min(coefficients, key=abs)
            factor: Dim = Poly({others: least}) if others else least
            size = size - sum(((dividend + k) // period * factor for k in range(period)), start=0) + dividend * factor
    return size


def least_of(size: Dim, least: int) -> Assumption:
    """Return the claim that a size is at least a number, about n where the size is n + c or ⌊(n + c)/p⌋ + d.

    >>> from netcalc.dims import symbol
    >>> n = symbol("n")
    >>> str(least_of((n + 4) // 6 - 1, 1)), str(least_of(n - 15, 1))
    ('n >= 8', 'n >= 16')
    """
    terms = [] if isinstance(size, int) else list(size.monomials())
    constant = sum(c for monomial, c in terms if not monomial)
    if constant:
        return least_of(size - constant, least - constant)
    if len(terms) == 1 and terms[0][1] == 1 and len(terms[0][0]) == 1:
        ((atom, power),) = terms[0][0]
        if isinstance(atom, Call) and atom.function == "//" and power == 1 and isinstance(atom.operands[1], int):
            return least_of(as_dim(atom.operands[0]), least * atom.operands[1])
    return Assumption(size, ">=", least)


class Settled:
    """Sizes under assumptions: what divides a size by assumption cancels, so that heads·⌊d_model/heads⌋ is d_model."""

    def __init__(self, assumptions: Iterable[Assumption]) -> None:
        self._divisors = dict(assumed_multiples(assumptions))

    def __call__(self, size: Dim) -> Dim:
        """Return an equal size, with fewer quotients."""
        if isinstance(size, int) or not self._divisors:
            return size
        result: Dim = 0
        for monomial, coefficient in size.monomials():
            part: Dim = Poly({monomial: coefficient})
            for atom, power in monomial:
                for _ in range(power):
                    part = self._without(part, atom)
            result = result + part
        return result

    def _without(self, part: Dim, quotient: Atom) -> Dim:
        """Return a term without a quotient that is exact, if the term is a multiple of the divisor."""
        pair = self._divisors.get(quotient)
        rest = None if pair is None else exact_div(part, Poly({((quotient, 1),): 1}))
        factor = None if pair is None or rest is None else exact_div(rest, pair[1])
        return part if pair is None or factor is None else factor * pair[0]
