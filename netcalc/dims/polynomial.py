"""Polynomials over sizes, in canonical form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from netcalc.dims import intervals
from netcalc.dims.atoms import Atom, Call, CeilLog2, Monomial, Symbol, UndecidedError, bounds_of, times
from netcalc.dims.intervals import Interval
from netcalc.dims.order import positive

__all__ = ["Dim", "Poly", "atom", "ceil_log2", "maximum", "minimum", "product", "simplest", "symbol", "terms_of"]


class Poly:
    """An integer polynomial in canonical form; immutable, hashable, equal when the forms are equal."""

    __slots__ = ("_hash", "_terms")

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self._terms: dict[Monomial, int] = dict(sorted(terms.items(), key=_order))
        self._hash = hash(tuple(self._terms.items()))

    # -- arithmetic ---------------------------------------------------------------------------------

    def __add__(self, other: Dim) -> Dim:
        if not isinstance(other, (int, Poly)):
            return NotImplemented
        terms = dict(self._terms)
        for monomial, coefficient in terms_of(other).items():
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return simplest(terms)

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return self * -1

    def __pos__(self) -> Poly:
        return self

    def __sub__(self, other: Dim) -> Dim:
        if not isinstance(other, (int, Poly)):
            return NotImplemented
        return self + other * -1

    def __rsub__(self, other: int) -> Dim:
        return self * -1 + other

    def __mul__(self, other: Dim) -> Dim:
        if not isinstance(other, (int, Poly)):
            return NotImplemented
        terms: dict[Monomial, int] = {}
        for m1, c1 in self._terms.items():
            for m2, c2 in terms_of(other).items():
                m = times(m1, m2)
                terms[m] = terms.get(m, 0) + c1 * c2
        return simplest(terms)

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Dim:
        if not isinstance(exponent, int) or not 0 <= exponent <= 16:
            raise UndecidedError(f"({self}) ** {exponent}: a size takes whole powers up to 16")
        return product([self] * exponent)

    def __floordiv__(self, other: Dim) -> Dim:
        from netcalc.dims.division import floor_div  # which works with polynomials itself

        return floor_div(self, other)

    def __rfloordiv__(self, other: int) -> Dim:
        from netcalc.dims.division import floor_div

        return floor_div(other, self)

    def __mod__(self, other: Dim) -> Dim:
        return self - self // other * other

    def __rmod__(self, other: int) -> Dim:
        return other - other // self * self

    # -- order --------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self._terms == other._terms

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: Dim) -> bool:
        return positive(other - self, f"{self} < {other}", f"{self} >= {other}")

    def __gt__(self, other: Dim) -> bool:
        return positive(self - other, f"{self} > {other}", f"{self} <= {other}")

    def __le__(self, other: Dim) -> bool:
        return not self > other

    def __ge__(self, other: Dim) -> bool:
        return not self < other

    def __abs__(self) -> Dim:
        return maximum(self, -self)

    def __bool__(self) -> bool:
        return True  # a Poly is never the constant 0, and a size is at least 1

    def __index__(self) -> int:
        raise UndecidedError(f"{self} is symbolic, and a plain number is needed here")

    def __float__(self) -> float:
        return float(self.__index__())

    # -- reading ------------------------------------------------------------------------------------

    def at(self, sizes: Mapping[str, int]) -> int:
        """The value at the given sizes; a name that is missing takes its default."""
        return sum(c * math.prod(a.at(sizes) ** p for a, p in m) for m, c in self._terms.items())

    def names(self) -> set[str]:
        """The names of the sizes that occur in it."""
        return {n for m in self._terms for a, _ in m for n in a.names()}

    def bounds(self) -> Interval:
        """A lower and an upper bound, from every named size being at least 1."""
        total: Interval = (0, 0)
        for monomial, coefficient in self._terms.items():
            term: Interval = (coefficient, coefficient)
            for factor, power in monomial:
                for _ in range(power):
                    term = intervals.times(term, factor.bounds())
            total = intervals.plus(total, term)
        return total

    def monomials(self) -> Iterator[tuple[Monomial, int]]:
        """The terms, as (atoms with powers, coefficient)."""
        return iter(self._terms.items())

    def __str__(self) -> str:
        text = ""
        for monomial, coefficient in self._terms.items():
            # -h//2 would read as (-h)//2
            alone = len(monomial) == 1 and (coefficient == 1 or (coefficient == -1 and text != ""))
            factors = [_power(a, p, alone) for a, p in monomial]
            size = abs(coefficient)
            body = "*".join(([str(size)] if size != 1 or not factors else []) + factors)
            if text:
                text += f" {'-' if coefficient < 0 else '+'} {body}"
            else:
                text = f"{'-' if coefficient < 0 else ''}{body}"
        return text

    def __repr__(self) -> str:
        return f"Poly({self})"


Dim: TypeAlias = int | Poly


def symbol(name: str, default: int | None = None) -> Poly:
    """A named size; ``default`` decides orders that its form leaves open."""
    return atom(Symbol(name, default))


def atom(one: Atom) -> Poly:
    """The polynomial that is this atom alone."""
    return Poly({((one, 1),): 1})


def terms_of(dim: Dim) -> dict[Monomial, int]:
    """The coefficient of each monomial."""
    return {(): dim} if isinstance(dim, int) else dim._terms


def simplest(terms: Mapping[Monomial, int]) -> Dim:
    """The sum of these terms: an int where no atom is left."""
    kept = {m: c for m, c in terms.items() if c}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    return Poly(kept)


def product(dims: Iterable[Dim]) -> Dim:
    """The product; 1 for none.

    >>> product([64, 3, 7, 7])
    9408
    """
    result: Dim = 1
    for dim in dims:
        result = result * dim
    return result


def ceil_log2(size: Dim) -> Dim:
    """⌈log₂ size⌉ for a size of at least 1.

    >>> ceil_log2(1000)
    10
    """
    return (size - 1).bit_length() if isinstance(size, int) else atom(CeilLog2(size))


def minimum(a: Dim, b: Dim) -> Dim:
    """The smaller of two sizes; an atom where the form leaves it open."""
    return _extreme("min", a, b)


def maximum(a: Dim, b: Dim) -> Dim:
    """The larger of two sizes; an atom where the form leaves it open."""
    return _extreme("max", a, b)


def _extreme(function: str, a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b) if function == "min" else max(a, b)
    if a == b:
        return a
    low, high = bounds_of(a - b)
    if low >= 0:
        return b if function == "min" else a
    if high <= 0:
        return a if function == "min" else b
    left, right = sorted((a, b), key=str)
    return atom(Call(function, left, right))


def _order(item: tuple[Monomial, int]) -> tuple[int, str]:
    """Terms stand by falling degree, then by name."""
    monomial, _ = item
    return -sum(p for _, p in monomial), "*".join(f"{a}**{p}" for a, p in monomial)


def _power(factor: Atom, power: int, alone: bool) -> str:
    text = str(factor)
    if "//" in text and not (alone and power == 1):
        text = f"({text})"
    return text if power == 1 else f"{text}**{power}"
