"""Growth of sizes: the leading term of a size for large values of one name."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from netcalc.dims.atoms import Atom, Call, Operand, Symbol
from netcalc.dims.functions import substitute
from netcalc.dims.polynomial import Dim, as_dim

_NAMES = ("constant", "linear", "quadratic", "cubic")


class Growth(NamedTuple):
    """The leading term ``coefficient * name**degree`` of a size for large values of ``name``."""

    name: str
    degree: int
    coefficient: Fraction

    @property
    def kind(self) -> str:
        """The degree in words, such as `linear in length`."""
        known = _NAMES[self.degree] if self.degree < len(_NAMES) else f"of degree {self.degree}"
        return f"{known} in {self.name}"


class _Series(NamedTuple):
    """A polynomial of one name that is exact down to the powers above ``error``; -1 for an exact one."""

    terms: Mapping[int, Fraction]
    error: int

    @property
    def degree(self) -> int:
        """The greatest power, that of the error if no term is above it."""
        return max(self.terms, default=self.error)

    def plus(self, other: _Series, times: int = 1) -> _Series:
        """Return this series plus a multiple of another."""
        powers = {*self.terms, *other.terms}
        terms = {p: self.terms.get(p, Fraction()) + times * other.terms.get(p, Fraction()) for p in powers}
        return _series(terms, max(self.error, other.error))

    def times(self, other: _Series) -> _Series:
        """Return the product with another series."""
        terms: dict[int, Fraction] = {}
        for power, coefficient in self.terms.items():
            for further, factor in other.terms.items():
                terms[power + further] = terms.get(power + further, Fraction()) + coefficient * factor
        errors = (
            self.degree + other.error if other.error >= 0 else -1,
            other.degree + self.error if self.error >= 0 else -1,
        )
        return _series(terms, max(errors))


def growth(dim: Dim, name: str, sizes: Mapping[str, int]) -> Growth | None:
    """Return the leading term of a size as ``name`` grows; None if it has no polynomial one.

    Args:
        dim: the size.
        name: the name that grows.
        sizes: values of all other names.

    Halves that are rounded down count as halves, which is what they are but for a constant; of a minimum or maximum the
    operand counts that wins in the end.

    >>> from netcalc.dims import maximum, symbol
    >>> n = symbol("n")
    >>> growth(3 * n * n - 3 * maximum(0, n - 4) ** 2, "n", {})
    Growth(name='n', degree=1, coefficient=Fraction(24, 1))
    """
    series = _of(substitute(dim, {other: size for other, size in sizes.items() if other != name}), name)
    if series is None or (not series.terms and series.error >= 0):
        return None
    return Growth(name, max(series.degree, 0), series.terms.get(series.degree, Fraction()))


def _series(terms: Mapping[int, Fraction], error: int) -> _Series:
    return _Series({power: c for power, c in terms.items() if c and power > error}, error)


def _of(dim: Operand, name: str) -> _Series | None:
    if isinstance(dim, int):
        return _series({0: Fraction(dim)}, -1)
    result = _series({}, -1)
    for monomial, coefficient in dim.monomials():
        term = _series({0: Fraction(coefficient)}, -1)
        for factor, power in monomial:
            series = _of_atom(factor, name)
            if series is None:
                return None
            for _ in range(power):
                term = term.times(series)
        result = result.plus(term)
    return result


def _of_atom(factor: Atom, name: str) -> _Series | None:
    if isinstance(factor, Symbol):
        return _series({1: Fraction(1, factor.multiple)}, -1) if factor.name == name else None
    if not isinstance(factor, Call):
        return None
    operands = [_of(as_dim(operand), name) for operand in factor.operands]
    if factor.function == "//":
        return _quotient(*operands)
    best = operands[0]
    for operand in operands[1:]:
        best = _extreme(best, operand, 1 if factor.function == "max" else -1)
    return best


def _quotient(dividend: _Series | None, divisor: _Series | None) -> _Series | None:
    """Return ⌊dividend / divisor⌋ for a divisor that is a number."""
    if dividend is None or divisor is None or divisor.error >= 0 or set(divisor.terms) != {0}:
        return None
    terms = {power: coefficient / divisor.terms[0] for power, coefficient in dividend.terms.items()}
    return _series(terms, max(dividend.error, 0))


def _extreme(a: _Series | None, b: _Series | None, sign: int) -> _Series | None:
    """Return the greater (sign 1) or the smaller (sign -1) of two series in the end."""
    if a is None or b is None:
        return None
    difference = a.plus(b, -1)
    if not difference.terms:
        return _series(a.terms, max(a.error, b.error))
    return a if difference.terms[difference.degree] * sign > 0 else b
