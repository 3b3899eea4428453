"""Sizes under assumptions of divisibility."""

from __future__ import annotations

from collections.abc import Iterable

from netcalc.dims.atoms import Atom
from netcalc.dims.functions import assumed_multiples
from netcalc.dims.order import Assumption
from netcalc.dims.polynomial import Dim, Poly, exact_div


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
