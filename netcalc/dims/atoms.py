"""What polynomials are made of: named sizes, functions of sizes that stay open, and products of their powers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from netcalc.dims import intervals
from netcalc.dims.intervals import Interval

if TYPE_CHECKING:
    from netcalc.dims.polynomial import Dim, Poly

__all__ = ["Atom", "Call", "CeilLog2", "Monomial", "Symbol", "UndecidedError", "bounds_of", "over", "times", "value_at"]


class UndecidedError(Exception):
    """An order between sizes that neither their form nor their default values decide."""


def value_at(dim: Dim, sizes: Mapping[str, int]) -> int:
    """The integer that ``dim`` is at the given sizes."""
    return dim if isinstance(dim, int) else dim.at(sizes)


def bounds_of(dim: Dim) -> Interval:
    """A lower and an upper bound, from every named size being at least 1."""
    return (dim, dim) if isinstance(dim, int) else dim.bounds()


class Symbol(NamedTuple):
    """A named size; ``default`` is its value where none is given."""

    name: str
    default: int | None

    def __str__(self) -> str:
        return self.name

    def at(self, sizes: Mapping[str, int]) -> int:
        """Its value at the given sizes; UndecidedError where there is none, nor a default."""
        if self.name in sizes:
            return sizes[self.name]
        if self.default is None:
            raise UndecidedError(f"the size of {self.name!r} is not known")
        return self.default

    def names(self) -> set[str]:
        """Its own name."""
        return {self.name}

    def bounds(self) -> Interval:
        """A size is at least 1."""
        return 1, math.inf


class Call(NamedTuple):
    """A function of two sizes: ``//``, ``min`` or ``max``."""

    function: str
    left: Dim
    right: Dim

    def __str__(self) -> str:
        if self.function == "//":
            return f"{_wrapped(self.left)}//{_wrapped(self.right)}"
        return f"{self.function}({self.left}, {self.right})"

    def at(self, sizes: Mapping[str, int]) -> int:
        """Its value at the given sizes."""
        left, right = value_at(self.left, sizes), value_at(self.right, sizes)
        if self.function == "//":
            return left // right
        return min(left, right) if self.function == "min" else max(left, right)

    def names(self) -> set[str]:
        """The names of the sizes that occur in it."""
        return {n for side in (self.left, self.right) if not isinstance(side, int) for n in side.names()}

    def bounds(self) -> Interval:
        """A lower and an upper bound."""
        left, right = bounds_of(self.left), bounds_of(self.right)
        if self.function == "//":
            return intervals.over(left, right)
        pick = min if self.function == "min" else max
        return pick(left[0], right[0]), pick(left[1], right[1])


class CeilLog2(NamedTuple):
    """The number of times that a size is halved until one is left."""

    size: Poly

    def __str__(self) -> str:
        return f"ceil_log2({self.size})"

    def at(self, sizes: Mapping[str, int]) -> int:
        """Its value at the given sizes."""
        return (value_at(self.size, sizes) - 1).bit_length()

    def names(self) -> set[str]:
        """The names of the sizes that occur in it."""
        return self.size.names()

    def bounds(self) -> Interval:
        """A lower and an upper bound."""
        return intervals.log2(self.size.bounds())


Atom: TypeAlias = Symbol | Call | CeilLog2
#: A product of powers of atoms; the empty one is 1.
Monomial: TypeAlias = tuple[tuple[Atom, int], ...]


def times(m1: Monomial, m2: Monomial) -> Monomial:
    """m1 · m2."""
    powers: dict[Atom, int] = dict(m1)
    for atom, power in m2:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: (str(item[0]), item[1])))


def over(m1: Monomial, m2: Monomial) -> Monomial | None:
    """m1 / m2, or None where a power would be negative."""
    powers = dict(m1)
    for atom, power in m2:
        powers[atom] = powers.get(atom, 0) - power
    return None if any(p < 0 for p in powers.values()) else tuple((a, p) for a, p in powers.items() if p)


def _wrapped(dim: Dim) -> str:
    text = str(dim)
    return text if text.isidentifier() or text.isdigit() else f"({text})"
