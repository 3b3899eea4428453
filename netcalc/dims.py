"""Dimensions: exact integers, or integer polynomials over named sizes.

A shape or cost rule is written once, with ordinary operators, and serves both: given ints it computes
ints, given a :class:`Poly` it computes a canonical polynomial, so that two sizes are equal exactly when
their forms are.  Floor division, minimum and maximum that cannot be resolved become atoms of their own.

>>> h = symbol("h", default=224)
>>> str((h + 2 * 3 - 7) // 2 + 1)
'(h + 1)//2'
>>> ((h + 2 * 3 - 7) // 2 + 1).at({"h": 224})
112

An order that the form leaves open (is ``h >= 7``?) is decided at the sizes' default values, and the decision
is noted as an *assumption* in the innermost :func:`assumptions` block, the way a tracing compiler guards a
specialised graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "Dim",
    "Poly",
    "UndecidedError",
    "assumptions",
    "ceil_div",
    "ceil_log2",
    "exact_div",
    "maximum",
    "minimum",
    "product",
    "symbol",
    "value_at",
]

_noted: ContextVar[list[str] | None] = ContextVar("_noted", default=None)


class UndecidedError(Exception):
    """An order between sizes that neither their form nor their default values decide."""


@dataclass(frozen=True, slots=True)
class _Symbol:
    name: str
    default: int | None

    def __str__(self) -> str:
        return self.name

    def at(self, sizes: Mapping[str, int]) -> int:
        if self.name in sizes:
            return sizes[self.name]
        if self.default is None:
            raise UndecidedError(f"the size of {self.name!r} is not known")
        return self.default

    def names(self) -> set[str]:
        return {self.name}


@dataclass(frozen=True, slots=True)
class _Call:
    """An atom that is a function of two sizes: ``//``, ``min`` or ``max``."""

    function: str
    left: Dim
    right: Dim

    def __str__(self) -> str:
        if self.function == "//":
            return f"{_wrapped(self.left)}//{_wrapped(self.right)}"
        return f"{self.function}({self.left}, {self.right})"

    def at(self, sizes: Mapping[str, int]) -> int:
        left, right = value_at(self.left, sizes), value_at(self.right, sizes)
        if self.function == "//":
            return left // right
        return min(left, right) if self.function == "min" else max(left, right)

    def names(self) -> set[str]:
        return {n for side in (self.left, self.right) if isinstance(side, Poly) for n in side.names()}


@dataclass(frozen=True, slots=True)
class _CeilLog2:
    """An atom: the number of times that a size is halved until one is left."""

    size: Poly

    def __str__(self) -> str:
        return f"ceil_log2({self.size})"

    def at(self, sizes: Mapping[str, int]) -> int:
        return (value_at(self.size, sizes) - 1).bit_length()

    def names(self) -> set[str]:
        return self.size.names()


_Atom: TypeAlias = _Symbol | _Call | _CeilLog2
_Monomial: TypeAlias = tuple[tuple[_Atom, int], ...]
_Bound: TypeAlias = int | float  # exact; a float is ±infinity
_Interval: TypeAlias = tuple[_Bound, _Bound]


class Poly:
    """An integer polynomial in canonical form; immutable, hashable, equal when the forms are equal."""

    __slots__ = ("_hash", "_terms")

    def __init__(self, terms: Mapping[_Monomial, int]) -> None:
        self._terms: dict[_Monomial, int] = dict(sorted(terms.items(), key=_order))
        self._hash = hash(tuple(self._terms.items()))

    # -- arithmetic ---------------------------------------------------------------------------------

    def __add__(self, other: Dim) -> Dim:
        if not isinstance(other, (int, Poly)):
            return NotImplemented
        terms = dict(self._terms)
        for monomial, coefficient in _terms_of(other).items():
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return _simplest(terms)

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
        terms: dict[_Monomial, int] = {}
        for m1, c1 in self._terms.items():
            for m2, c2 in _terms_of(other).items():
                m = _times(m1, m2)
                terms[m] = terms.get(m, 0) + c1 * c2
        return _simplest(terms)

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Dim:
        if not isinstance(exponent, int) or not 0 <= exponent <= 16:
            raise UndecidedError(f"({self}) ** {exponent}: a size takes whole powers up to 16")
        return product([self] * exponent)

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
        return isinstance(other, Poly) and self._terms == other._terms

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: Dim) -> bool:
        return _positive(other - self, f"{self} < {other}", f"{self} >= {other}")

    def __gt__(self, other: Dim) -> bool:
        return _positive(self - other, f"{self} > {other}", f"{self} <= {other}")

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

    def monomials(self) -> Iterator[tuple[_Monomial, int]]:
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
    return Poly({((_Symbol(name, default), 1),): 1})


def value_at(dim: Dim, sizes: Mapping[str, int]) -> int:
    """The integer that ``dim`` is at the given sizes."""
    return dim if isinstance(dim, int) else dim.at(sizes)


def product(dims: Iterable[Dim]) -> Dim:
    """The product; 1 for none.

    >>> product([64, 3, 7, 7])
    9408
    """
    result: Dim = 1
    for dim in dims:
        result = result * dim
    return result


def ceil_div(a: Dim, b: Dim) -> Dim:
    """⌈a / b⌉ for a positive ``b``."""
    return (a + b - 1) // b


def ceil_log2(size: Dim) -> Dim:
    """⌈log₂ size⌉ for a size of at least 1.

    >>> ceil_log2(1000)
    10
    """
    return (size - 1).bit_length() if isinstance(size, int) else Poly({((_CeilLog2(size), 1),): 1})


def exact_div(a: Dim, b: Dim) -> Dim | None:
    """``a / b`` where that is a whole number by form, else None.

    >>> h, w = symbol("h"), symbol("w")
    >>> str(exact_div((h - 2) * (w - 2), h - 2))
    'w - 2'
    """
    if b == 0:
        return None
    rank = _ranking(a, b)
    leading, coefficient = max(_terms_of(b).items(), key=rank)
    quotient: Dim = 0
    while a != 0:  # long division, highest terms first
        monomial, c = max(_terms_of(a).items(), key=rank)
        powers = _over(monomial, leading)
        if powers is None or c % coefficient:
            return None
        part = _simplest({powers: c // coefficient})
        quotient, a = quotient + part, a - part * b
    return quotient


def minimum(a: Dim, b: Dim) -> Dim:
    """The smaller of two sizes; an atom where the form leaves it open."""
    return _extreme("min", a, b)


def maximum(a: Dim, b: Dim) -> Dim:
    """The larger of two sizes; an atom where the form leaves it open."""
    return _extreme("max", a, b)


@contextmanager
def assumptions() -> Iterator[list[str]]:
    """Collects, in order and once each, what was assumed of symbolic sizes inside the block."""
    notes: list[str] = []
    token = _noted.set(notes)
    try:
        yield notes
    finally:
        _noted.reset(token)


# -- internals --------------------------------------------------------------------------------------


def _order(item: tuple[_Monomial, int]) -> tuple[int, str]:
    monomial, _ = item
    return -sum(p for _, p in monomial), "*".join(f"{a}**{p}" for a, p in monomial)


def _terms_of(dim: Dim) -> dict[_Monomial, int]:
    return {(): dim} if isinstance(dim, int) else dim._terms


def _simplest(terms: Mapping[_Monomial, int]) -> Dim:
    kept = {m: c for m, c in terms.items() if c}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    return Poly(kept)


def _times(m1: _Monomial, m2: _Monomial) -> _Monomial:
    powers: dict[_Atom, int] = dict(m1)
    for atom, power in m2:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: (str(item[0]), item[1])))


def _power(atom: _Atom, power: int, alone: bool) -> str:
    text = str(atom)
    if "//" in text and not (alone and power == 1):
        text = f"({text})"
    return text if power == 1 else f"{text}**{power}"


def _wrapped(dim: Dim) -> str:
    text = str(dim)
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def _over(m1: _Monomial, m2: _Monomial) -> _Monomial | None:
    """m1 / m2, or None where a power would be negative."""
    powers = dict(m1)
    for atom, power in m2:
        powers[atom] = powers.get(atom, 0) - power
    return None if any(p < 0 for p in powers.values()) else tuple((a, p) for a, p in powers.items() if p)


def _ranking(*dims: Dim) -> Callable[[tuple[_Monomial, int]], tuple[int, ...]]:
    """An order of terms that multiplication keeps: by degree, then by the powers of each atom in turn."""
    atoms = sorted({atom for dim in dims for m in _terms_of(dim) for atom, _ in m}, key=str)

    def rank(item: tuple[_Monomial, int]) -> tuple[int, ...]:
        powers = dict(item[0])
        return sum(powers.values()), *(powers.get(atom, 0) for atom in atoms)

    return rank


def _floor_div(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if b == 0:
        raise ZeroDivisionError("division of a size by zero")
    if max(_terms_of(b).items(), key=_ranking(b))[1] < 0:
        return _floor_div(a * -1, b * -1)
    if isinstance(b, int):
        return _floor_div_int(a, b)
    exact = exact_div(a, b)
    if exact is not None:
        return exact
    # ⌊(b·q + r)/b⌋ = q + ⌊r/b⌋, as every atom is whole
    whole: Dim = 0
    rest: Dim = 0
    for term in _terms_of(a).items():
        part = _simplest(dict([term]))
        quotient = exact_div(part, b)
        whole, rest = (whole, rest + part) if quotient is None else (whole + quotient, rest)
    common = _common_factor(rest, b)
    if common != 1:  # ⌊k·r / k·b⌋ = ⌊r/b⌋
        return whole + _floor_div(_exactly(rest, common), _exactly(b, common))
    return whole + _quotient(rest, b)


def _floor_div_int(a: Dim, b: int) -> Dim:
    """⌊a/b⌋ for a positive integer."""
    whole = _simplest({monomial: c // b for monomial, c in _terms_of(a).items()})
    rest = _simplest({monomial: c % b for monomial, c in _terms_of(a).items()})
    if isinstance(rest, int):
        return whole
    shared = math.gcd(b, *(c for monomial, c in rest.monomials() if monomial))
    if shared > 1:  # ⌊(k·r + c)/(k·b)⌋ = ⌊(r + ⌊c/k⌋)/b⌋
        return whole + _floor_div(_simplest({m: c // shared for m, c in rest.monomials()}), b // shared)
    floors = _floors(rest)
    if len(floors) == 1:  # ⌊(⌊p/q⌋ + r)/b⌋ = ⌊(p + r·q)/(q·b)⌋
        (floor,) = floors
        others = rest - Poly({((floor, 1),): 1})
        return whole + _floor_div(floor.left + others * floor.right, floor.right * b)
    return whole + _quotient(rest, b)


def _quotient(a: Dim, b: Dim) -> Dim:
    """The atom ⌊a/b⌋, or a number where the bounds leave but one: ⌊−1/a⌋ is −1 at every size."""
    atom = Poly({((_Call("//", a, b), 1),): 1})
    low, high = _bounds(atom)
    return low if isinstance(low, int) and low == high else atom


def _common_factor(*dims: Dim) -> Dim:
    """The greatest one-term divisor of all of them."""
    terms = [term for dim in dims for term in _terms_of(dim).items()]
    shared = dict(terms[0][0])
    for monomial, _ in terms:
        powers = dict(monomial)
        shared = {atom: min(p, powers[atom]) for atom, p in shared.items() if atom in powers}
    return _simplest({tuple(shared.items()): math.gcd(*(c for _, c in terms))})


def _exactly(a: Dim, b: Dim) -> Dim:
    quotient = exact_div(a, b)
    assert quotient is not None
    return quotient


def _floors(dim: Poly) -> list[_Call]:
    """The terms of ``dim`` that are a floor division by a number."""
    alone = [m[0] for m, c in dim.monomials() if c == 1 and len(m) == 1]
    return [a for a, p in alone if p == 1 and isinstance(a, _Call) and a.function == "//" and isinstance(a.right, int)]


def _bounds(dim: Dim) -> _Interval:
    """A lower and an upper bound, from every size being at least 1."""
    if isinstance(dim, int):
        return dim, dim
    low: _Bound = 0
    high: _Bound = 0
    for monomial, coefficient in dim.monomials():
        term: _Interval = (coefficient, coefficient)
        for atom, power in monomial:
            for _ in range(power):
                term = _corners(_bound_times, term, _atom_bounds(atom))
        low, high = _bound_plus(low, term[0]), _bound_plus(high, term[1])
    return low, high


def _atom_bounds(atom: _Atom) -> _Interval:
    if isinstance(atom, _Symbol):
        return 1, math.inf
    if isinstance(atom, _CeilLog2):
        low, high = _bounds(atom.size)
        return _bound_log2(low), _bound_log2(high)
    left, right = _bounds(atom.left), _bounds(atom.right)
    if atom.function == "min":
        return min(left[0], right[0]), min(left[1], right[1])
    if atom.function == "max":
        return max(left[0], right[0]), max(left[1], right[1])
    return _corners(_bound_over, left, right) if right[0] > 0 else (-math.inf, math.inf)


def _corners(function: Callable[[_Bound, _Bound], _Bound], left: _Interval, right: _Interval) -> _Interval:
    ends = [function(a, b) for a in left for b in right]
    return min(ends), max(ends)


def _bound_plus(a: _Bound, b: _Bound) -> _Bound:
    return a if isinstance(a, float) else b if isinstance(b, float) else a + b


def _bound_log2(a: _Bound) -> _Bound:
    if isinstance(a, float):
        return max(a, 0)
    return (a - 1).bit_length() if a > 0 else 0


def _bound_times(a: _Bound, b: _Bound) -> _Bound:
    if a == 0 or b == 0:
        return 0
    if isinstance(a, float) or isinstance(b, float):
        return math.inf if (a > 0) == (b > 0) else -math.inf
    return a * b


def _bound_over(a: _Bound, b: _Bound) -> _Bound:
    """⌊a/b⌋ for a positive ``b``."""
    if isinstance(b, float):
        return 0 if a >= 0 else -1
    return a if isinstance(a, float) else a // b


def _positive(dim: Dim, claim: str, converse: str) -> bool:
    low, high = _bounds(dim)
    if low > 0:
        return True
    if high <= 0:
        return False
    try:
        holds = value_at(dim, {}) > 0
    except UndecidedError as why:
        raise UndecidedError(f"whether {claim} is open: {why}") from None
    notes = _noted.get()
    text = claim if holds else converse
    if notes is not None and text not in notes:
        notes.append(text)
    return holds


def _extreme(function: str, a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b) if function == "min" else max(a, b)
    if a == b:
        return a
    low, high = _bounds(a - b)
    if low >= 0:
        return b if function == "min" else a
    if high <= 0:
        return a if function == "min" else b
    left, right = sorted((a, b), key=str)
    return Poly({((_Call(function, left, right), 1),): 1})
