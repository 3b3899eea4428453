"""Polynomials over sizes, in canonical form, and their division."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, overload

from netcalc.arguments import checked_argument
from netcalc.dims.arrays import value_at_arrays
from netcalc.dims.atoms import Atom, Call, Operand, Symbol, UndecidedError, bounds_of
from netcalc.dims.bounds import bounds_of_terms
from netcalc.dims.extremes import reduced
from netcalc.dims.intervals import Interval
from netcalc.dims.order import Assumption, assume, decide, note_difference, unnoted
from netcalc.dims.terms import (
    Monomial,
    Terms,
    common_factor,
    multiply,
    quotient,
    ranking,
    single_calls,
    text_of,
    total,
    weight_of,
)
from netcalc.dims.work import spend_terms


class Poly:
    """Integer polynomial in canonical form: immutable, hashable, and equal to another if their forms are equal.

    Its terms are put in order when they are first read, which few intermediate results are.
    """

    __slots__ = ("_bounds", "_hash", "_is_ordered", "_terms", "_text", "weight")

    def __init__(self, terms: Terms) -> None:
        #: Number of terms, including the terms of sizes inside atoms.
        self.weight = weight_of(terms)
        spend_terms(self.weight)
        self._terms = terms
        self._is_ordered = len(terms) == 1
        self._hash: int | None = None
        self._bounds: Interval | None = None
        self._text: str | None = None

    # -- arithmetic ---------------------------------------------------------------------------------

    def __add__(self, other: Dim) -> Dim:
        if not isinstance(other, (int, Poly)):
            return NotImplemented
        if isinstance(other, int) and other == 0:
            return self
        return _from_terms(total(self._terms, _terms(other)))

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return self * -1

    def __pos__(self) -> Poly:
        return self

    def __sub__(self, other: Dim) -> Dim:
        if not isinstance(other, (int, Poly)):
            return NotImplemented
        return _from_terms(total(self._terms, _terms(other), -1))

    def __rsub__(self, other: int) -> Dim:
        return self * -1 + other

    def __mul__(self, other: Dim) -> Dim:
        if not isinstance(other, (int, Poly)):
            return NotImplemented
        if isinstance(other, int) and other == 1:
            return self
        spend_terms(len(self._terms) * len(_terms(other)))
        return _from_terms(multiply(self._terms, _terms(other)))

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Dim:
        if not isinstance(exponent, int) or not 0 <= exponent <= 16:
            raise UndecidedError(f"({self}) ** {exponent}: a size takes whole powers up to 16")
        power: Dim = 1
        for _ in range(exponent):
            power = power * self
        return power

    def __floordiv__(self, other: Dim) -> Dim:
        return _floor_div(self, other)

    def __rfloordiv__(self, other: int) -> Dim:
        return _floor_div(other, self)

    def __mod__(self, other: Dim) -> Dim:
        return self - self // other * other

    def __rmod__(self, other: int) -> Dim:
        return other - other // self * self

    # -- order --------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Poly) and self._terms == other._terms
        return same or (isinstance(other, (int, Poly)) and note_difference(self, other))

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._terms.items()))
        return self._hash

    def __lt__(self, other: Dim) -> bool:
        return decide(Assumption(self, "<", other), bounds_of(self - other))

    def __gt__(self, other: Dim) -> bool:
        return decide(Assumption(self, ">", other), bounds_of(self - other))

    def __le__(self, other: Dim) -> bool:
        return not self > other

    def __ge__(self, other: Dim) -> bool:
        return not self < other

    def __abs__(self) -> Dim:
        return maximum(self, -self)

    def __bool__(self) -> bool:
        return not equal(self, 0)

    def __index__(self) -> int:
        raise UndecidedError(f"{self} is symbolic, and a plain number is needed here")

    def __float__(self) -> float:
        return float(self.__index__())

    # -- reading ------------------------------------------------------------------------------------

    @overload
    def at(self, sizes: Mapping[str, int]) -> int: ...
    @overload
    def at(self, sizes: Mapping[str, Any]) -> Any: ...
    def at(self, sizes: Mapping[str, Any]) -> Any:
        """Return the value at the given sizes, numbers or arrays of integers; a name that is missing takes its default.

        See :func:`netcalc.dims.arrays.value_at_arrays`, also for what is raised.
        """
        sizes = sizes if type(sizes) is dict else checked_argument("sizes", sizes)
        if any(type(size) is not int for size in sizes.values()):
            return value_at_arrays(self, sizes)
        return sum(c * math.prod(a.at(sizes) ** p for a, p in m) for m, c in self._terms.items())

    def symbols(self) -> set[Symbol]:
        """Return the named sizes that occur."""
        return {symbol for m in self._terms for a, _ in m for symbol in a.symbols()}

    def names(self) -> set[str]:
        """Return the names of all sizes that occur."""
        return {symbol.name for symbol in self.symbols()}

    def bounds(self) -> Interval:
        """Return a lower and an upper bound, every named size being within its limits."""
        if self._bounds is None:
            with unnoted():
                self._bounds = bounds_of_terms(self._ordered())
        return self._bounds

    def monomials(self) -> Iterator[tuple[Monomial, int]]:
        """Yield the terms as (atoms with powers, coefficient)."""
        return iter(self._ordered().items())

    def _ordered(self) -> Terms:
        """Return the terms in their order."""
        if not self._is_ordered:
            self._terms = dict(sorted(self._terms.items(), key=_order))
            self._is_ordered = True
        return self._terms

    def __str__(self) -> str:
        if self._text is None:
            self._text = text_of(self._ordered())
        return self._text

    def __format__(self, spec: str) -> str:
        return text_of(self._ordered(), lambda number: format(number, spec)) if spec else str(self)

    def __repr__(self) -> str:
        return f"Poly({self})"


Dim: TypeAlias = int | Poly


def atom(factor: Atom) -> Poly:
    """Return the polynomial that consists of an atom."""
    return Poly({((factor, 1),): 1})


def equal(a: Dim, b: Dim) -> bool:
    """Return True if two sizes are equal: in form, or at the default sizes, which is then recorded as assumed.

    Sizes that are equal at no size are different. Without defaults, different forms are assumed to differ.
    """
    if (isinstance(a, int) and isinstance(b, int)) or _terms(a) == _terms(b):
        return _terms(a) == _terms(b)
    difference = a - b
    if _never_zero(difference):
        return False
    try:
        return decide(Assumption(a, "==", b), bounds_of(difference))
    except UndecidedError:
        return not assume(Assumption(a, "!=", b), bounds_of(difference))


def _never_zero(dim: Dim) -> bool:
    """Return True if the constant of a sum is no multiple of a number that divides all other terms."""
    others = math.gcd(*(c for monomial, c in _terms(dim).items() if monomial))
    return others > 1 and _terms(dim).get((), 0) % others != 0


def minimum(*sizes: Dim) -> Dim:
    """Return the smallest of some sizes: an atom if bounds leave it open."""
    return _extreme("min", sizes)


def maximum(*sizes: Dim) -> Dim:
    """Return the largest of some sizes: an atom if bounds leave it open."""
    return _extreme("max", sizes)


def exact_div(a: Dim, b: Dim) -> Dim | None:
    """Return ``a / b`` if ``b`` divides ``a`` by form, else None.

    >>> from netcalc.dims import symbol
    >>> h, w = symbol("h"), symbol("w")
    >>> str(exact_div((h - 2) * (w - 2), h - 2))
    'w - 2'
    """
    if isinstance(a, int) and isinstance(b, int):
        return a // b if b and a % b == 0 else None
    result = None if b == 0 else quotient(_terms(a), _terms(b))
    return None if result is None else _from_terms(result)


# -- floor division ---------------------------------------------------------------------------------


def _floor_div(a: Dim, b: Dim) -> Dim:
    """Return ⌊a / b⌋: the part that divides by form, and an atom for the rest."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if b == 0:
        raise ZeroDivisionError("division of a size by zero")
    if max(_terms(b).items(), key=ranking(_terms(b)))[1] < 0:
        return _floor_div(a * -1, b * -1)
    if isinstance(b, int):
        return _floor_div_by_number(a, b)
    exact = exact_div(a, b)
    if exact is not None:
        return exact
    # ⌊(b·q + r)/b⌋ = q + ⌊r/b⌋, as every atom is whole
    floors: Dim = 0
    rest: Dim = 0
    for term in _terms(a).items():
        part = _from_terms(dict([term]))
        divided = exact_div(part, b)
        floors, rest = (floors, rest + part) if divided is None else (floors + divided, rest)
    common = _from_terms(common_factor(_terms(rest), _terms(b)))
    if common != 1:  # ⌊k·r / k·b⌋ = ⌊r/b⌋
        return floors + _floor_div(_exact_quotient(rest, common), _exact_quotient(b, common))
    return floors + _reduced_quotient(rest, b)


def _floor_div_by_number(a: Dim, b: int) -> Dim:
    """Return ⌊a / b⌋ for a positive integer."""
    extreme = _only_extreme(a, b)
    # a term that the number does not divide, and that stays in one piece
    fixed = atom(extreme[0]) * extreme[1] if extreme else 0
    floors, rest = _divided_coefficients(a - fixed, b)
    rest = rest + fixed
    if isinstance(rest, int):
        return floors
    return floors + _reduced_quotient(rest, b)


def _divided_coefficients(a: Dim, b: int) -> tuple[Dim, Dim]:
    """Return the sums of the quotients and of the remainders of the coefficients by ``b``."""
    terms = _terms(a)
    return _from_terms({m: c // b for m, c in terms.items()}), _from_terms({m: c % b for m, c in terms.items()})


def _reduced_quotient(a: Dim, b: Dim) -> Dim:
    """Return ⌊a / b⌋ where no part divides by form.

    It is an atom unless a number divides all terms, or all but a constant where ``b`` is positive; or ``b`` is positive
    and ``a`` contains a minimum, a maximum or a floor; or the bounds leave one number only: ⌊−1/a⌋ is −1 at every size,
    and ⌊a/(a + 1)⌋ is 0.
    """
    shared = math.gcd(*_terms(b).values(), *(c for monomial, c in _terms(a).items() if monomial))
    is_positive = bounds_of(b)[0] > 0
    if shared > 1 and (is_positive or _terms(a).get((), 0) % shared == 0):  # ⌊(k·r + c)/(k·b)⌋ = ⌊(r + ⌊c/k⌋)/b⌋
        left, right = ({m: c // shared for m, c in _terms(dim).items()} for dim in (a, b))
        return _floor_div(_from_terms(left), _from_terms(right))
    if is_positive:
        extreme = _only_extreme(a, b)
        if (
            extreme is not None
        ):  # ⌊(min(p, q) + r)/b⌋ = min(⌊(p + r)/b⌋, ⌊(q + r)/b⌋), and a negative factor makes it a max
            call, factor = extreme
            rest = a - atom(call) * factor
            function = call.function if factor > 0 else {"min": "max", "max": "min"}[call.function]
            return _extreme(function, [_floor_div(as_dim(p) * factor + rest, b) for p in call.operands])
        floors = [call for call, factor in single_calls(_terms(a)) if call.function == "//" and factor == 1]
        if len(floors) == 1:  # ⌊(⌊p/q⌋ + r)/b⌋ = ⌊(p + r·q)/(q·b)⌋
            dividend, divisor = map(as_dim, floors[0].operands)
            return _floor_div(dividend + (a - atom(floors[0])) * divisor, divisor * b)
    if isinstance(b, Poly) and bounds_of(a)[0] >= 0 and bounds_of(b - a)[0] > 0:
        return 0
    quotient = Call("//", (a, b))
    low, high = quotient.bounds()
    return low if isinstance(low, int) and low == high else atom(quotient)


def _only_extreme(a: Dim, b: Dim) -> tuple[Call, int] | None:
    """Return the only term of ``a`` that is a multiple of a min or max, and not of a number ``b``; None if not one."""
    extremes = [
        (call, factor)
        for call, factor in single_calls(_terms(a))
        if call.function != "//" and not (isinstance(b, int) and factor % b == 0)
    ]
    return extremes[0] if len(extremes) == 1 else None


def _exact_quotient(a: Dim, b: Dim) -> Dim:
    result = exact_div(a, b)
    assert result is not None
    return result


# -- forms ------------------------------------------------------------------------------------------


def _extreme(function: str, sizes: Sequence[Dim]) -> Dim:
    with unnoted():
        operands = reduced(function, sizes)
    return as_dim(operands[0]) if len(operands) == 1 else atom(Call(function, operands))


def _terms(dim: Dim) -> Terms:
    return {(): dim} if isinstance(dim, int) else dim._terms


def _from_terms(terms: Terms) -> Dim:
    """Return the sum of these terms: an int if no atom is left."""
    nonzero = {m: c for m, c in terms.items() if c}
    if not nonzero:
        return 0
    if len(nonzero) == 1 and () in nonzero:
        return nonzero[()]
    return Poly(nonzero)


def as_dim(operand: Operand) -> Dim:
    """Return an operand of an atom or assumption as a size, which it is."""
    assert isinstance(operand, (int, Poly))
    return operand


def _order(item: tuple[Monomial, int]) -> tuple[int, str]:
    """Sort key of terms: falling degree, then name."""
    monomial, _ = item
    return -sum(p for _, p in monomial), "*".join(f"{a}**{p}" for a, p in monomial)
