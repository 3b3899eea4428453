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
from collections.abc import Iterable, Iterator, Mapping
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


_Atom: TypeAlias = _Symbol | _Call
_Monomial: TypeAlias = tuple[tuple[_Atom, int], ...]


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

    def __bool__(self) -> bool:
        return True  # a Poly is never the constant 0, and a size is at least 1

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
            alone = len(monomial) == 1 and coefficient in (1, -1)
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


def exact_div(a: Dim, b: Dim) -> Dim | None:
    """``a / b`` where that is a whole number by form, else None."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b if b and a % b == 0 else None
    quotient = _divide_by_monomial(_terms_of(a), b)
    return None if quotient is None else _simplest(quotient)


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


def _divide_by_monomial(terms: Mapping[_Monomial, int], divisor: Dim) -> dict[_Monomial, int] | None:
    """Each term over a one-term divisor (or the whole over itself), or None where something is left."""
    by = _terms_of(divisor)
    if dict(terms) == by and by:
        return {(): 1}
    if len(by) != 1:
        return None
    ((divisor_atoms, divisor_coefficient),) = by.items()
    out: dict[_Monomial, int] = {}
    for monomial, coefficient in terms.items():
        powers = dict(monomial)
        for atom, power in divisor_atoms:
            powers[atom] = powers.get(atom, 0) - power
        if divisor_coefficient == 0 or coefficient % divisor_coefficient or min(powers.values(), default=0) < 0:
            return None
        out[tuple((a, p) for a, p in powers.items() if p)] = coefficient // divisor_coefficient
    return out


def _floor_div(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if isinstance(b, int) and b == 0:
        raise ZeroDivisionError("division of a size by zero")
    # ⌊(b·q + r)/b⌋ = q + ⌊r/b⌋, as every atom is whole
    whole: Dim = 0
    rest: Dim = 0
    for monomial, coefficient in _terms_of(a).items():
        quotient = _divide_by_monomial({monomial: coefficient}, b)
        if quotient is None and isinstance(b, int):
            quotient = {monomial: coefficient // b}
            rest = rest + _simplest({monomial: coefficient % b})
        elif quotient is None:
            rest = rest + _simplest({monomial: coefficient})
            continue
        whole = whole + _simplest(quotient)
    if isinstance(rest, int) and isinstance(b, int):
        return whole + rest // b
    if isinstance(rest, int) and rest == 0:
        return whole
    if isinstance(rest, Poly) and isinstance(b, int):
        nested = _nested_floor(rest)
        if nested is not None:  # ⌊(⌊p/q⌋ + c)/b⌋ = ⌊(p + c·q)/(q·b)⌋
            inner, divisor, constant = nested
            return whole + _floor_div(inner + constant * divisor, divisor * b)
    return whole + Poly({((_Call("//", rest, b), 1),): 1})


def _nested_floor(dim: Poly) -> tuple[Dim, int, int] | None:
    """(p, q, c) where ``dim`` is ⌊p/q⌋ + c with an integer q > 0, else None."""
    terms = dict(dim.monomials())
    constant = terms.pop((), 0)
    if len(terms) != 1:
        return None
    ((monomial, coefficient),) = terms.items()
    if coefficient != 1 or len(monomial) != 1 or monomial[0][1] != 1:
        return None
    atom = monomial[0][0]
    if isinstance(atom, _Call) and atom.function == "//" and isinstance(atom.right, int) and atom.right > 0:
        return atom.left, atom.right, constant
    return None


def _bounds(dim: Dim) -> tuple[float, float]:
    """A lower and an upper bound, from every size being at least 1."""
    if isinstance(dim, int):
        return dim, dim
    low = high = 0.0
    for monomial, coefficient in dim.monomials():
        least = most = 1.0
        for atom, power in monomial:
            a, b = _atom_bounds(atom)
            if a < 0:
                return -math.inf, math.inf
            least, most = least * a**power, most * b**power
        ends = (coefficient * least, coefficient * most if most else 0.0)
        low, high = low + min(ends), high + max(ends)
    return low, high


def _atom_bounds(atom: _Atom) -> tuple[float, float]:
    if isinstance(atom, _Symbol):
        return 1, math.inf
    (a, b), (c, d) = _bounds(atom.left), _bounds(atom.right)
    if atom.function == "min":
        return min(a, c), min(b, d)
    if atom.function == "max":
        return max(a, c), max(b, d)
    if c <= 0 or a < 0:
        return -math.inf, math.inf
    return (0.0 if math.isinf(d) else a // d), b if math.isinf(b) else b // c


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
