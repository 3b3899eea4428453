"""Atoms of polynomials: named sizes, and the functions of sizes that have no polynomial form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, Protocol, TypeAlias

from netcalc.dims import intervals
from netcalc.dims.intervals import Interval

__all__ = ["Atom", "Call", "CeilLog2", "Operand", "Symbol", "Symbolic", "UndecidedError", "bounds_of", "value_at"]


class UndecidedError(Exception):
    """A rule needs the value of a size, or an order between sizes, that neither their form nor their defaults give."""


class Symbolic(Protocol):
    """A size without a value: an atom's view of a polynomial."""

    def at(self, sizes: Mapping[str, int]) -> int: ...
    def names(self) -> set[str]: ...
    def bounds(self) -> Interval: ...


Operand: TypeAlias = int | Symbolic


def value_at(dim: Operand, sizes: Mapping[str, int]) -> int:
    """Return the value of ``dim`` at the given sizes; a name that is missing takes its default.

    Raises:
        UndecidedError: a name is missing and has no default.
    """
    return dim if isinstance(dim, int) else dim.at(sizes)


def bounds_of(dim: Operand) -> Interval:
    """Return a lower and an upper bound of ``dim``, every named size being at least 1."""
    return (dim, dim) if isinstance(dim, int) else dim.bounds()


class Symbol(NamedTuple):
    """A named size of at least 1; ``default`` is its value if none is given."""

    name: str
    default: int | None

    def __str__(self) -> str:
        return self.name

    def at(self, sizes: Mapping[str, int]) -> int:
        """Return the value at the given sizes; UndecidedError if there is neither a value nor a default."""
        if self.name in sizes:
            return sizes[self.name]
        if self.default is None:
            raise UndecidedError(f"the size of {self.name!r} is not known")
        return self.default

    def names(self) -> set[str]:
        """Return the name as a set."""
        return {self.name}

    def bounds(self) -> Interval:
        """Return the bounds of every size: 1 and infinity."""
        return 1, math.inf


class Call(NamedTuple):
    """A function of two sizes: ``//``, ``min`` or ``max``."""

    function: str
    left: Operand
    right: Operand

    def __str__(self) -> str:
        if self.function == "//":
            return f"{_in_parentheses(self.left)}//{_in_parentheses(self.right)}"
        return f"{self.function}({self.left}, {self.right})"

    def at(self, sizes: Mapping[str, int]) -> int:
        """Return the value at the given sizes."""
        left, right = value_at(self.left, sizes), value_at(self.right, sizes)
        if self.function == "//":
            return left // right
        return min(left, right) if self.function == "min" else max(left, right)

    def names(self) -> set[str]:
        """Return the names of all sizes that occur."""
        return {name for side in (self.left, self.right) if not isinstance(side, int) for name in side.names()}

    def bounds(self) -> Interval:
        """Return a lower and an upper bound."""
        left, right = bounds_of(self.left), bounds_of(self.right)
        if self.function == "//":
            return intervals.over(left, right)
        pick = min if self.function == "min" else max
        return pick(left[0], right[0]), pick(left[1], right[1])


class CeilLog2(NamedTuple):
    """⌈log₂ size⌉ of a symbolic size."""

    size: Symbolic

    def __str__(self) -> str:
        return f"ceil_log2({self.size})"

    def at(self, sizes: Mapping[str, int]) -> int:
        """Return the value at the given sizes."""
        return (self.size.at(sizes) - 1).bit_length()

    def names(self) -> set[str]:
        """Return the names of all sizes that occur."""
        return self.size.names()

    def bounds(self) -> Interval:
        """Return a lower and an upper bound."""
        return intervals.log2(self.size.bounds())


Atom: TypeAlias = Symbol | Call | CeilLog2


def _in_parentheses(dim: Operand) -> str:
    text = str(dim)
    return text if text.isidentifier() or text.isdigit() else f"({text})"
