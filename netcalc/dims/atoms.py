"""Atoms of polynomials: named sizes, and the functions of sizes that have no polynomial form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol, TypeAlias

from netcalc.diagnostics import Diagnostic, NetcalcError, written
from netcalc.dims import intervals
from netcalc.dims.intervals import Interval


class UndecidedError(NetcalcError):
    """The value of a size, or an order between sizes, that neither their form nor their defaults give (E404)."""

    def __init__(self, problem: str | Iterable[Diagnostic]) -> None:
        super().__init__(Diagnostic("E404", problem) if isinstance(problem, str) else problem)

    @property
    def message(self) -> str:
        """The problem in words, without its code."""
        return self.diagnostics[0].message


class Symbolic(Protocol):
    """A size without a value: an atom's view of a polynomial."""

    def at(self, sizes: Mapping[str, int]) -> int: ...
    def symbols(self) -> set[Symbol]: ...
    def bounds(self) -> Interval: ...
    def monomials(self) -> Iterator[tuple[tuple[tuple[Atom, int], ...], int]]: ...
    @property
    def weight(self) -> int: ...


Operand: TypeAlias = int | Symbolic


_examples: ContextVar[Mapping[str, int]] = ContextVar("_examples", default={})  # noqa: B039 - never changed


@contextmanager
def examples(sizes: Mapping[str, int]) -> Iterator[None]:
    """Take these values for named sizes without a default inside the block."""
    token = _examples.set(sizes)
    try:
        yield
    finally:
        _examples.reset(token)


def value_at(dim: Operand, sizes: Mapping[str, int]) -> int:
    """Return the value of ``dim`` at the given sizes; a name that is missing takes its default.

    Raises:
        UndecidedError: a name is missing and has no default.
    """
    if isinstance(dim, int):
        return dim
    return dim.at(sizes) if hasattr(dim, "at") else dim  # type: ignore[return-value]  # a real number


def bounds_of(dim: Operand) -> Interval:
    """Return a lower and an upper bound of ``dim``, every named size being within its limits."""
    return (dim, dim) if isinstance(dim, int) else dim.bounds()


class Symbol(NamedTuple):
    """A named size divided by ``multiple``, of which the size is a multiple.

    ``default`` is the value of the size if none is given; ``least`` and ``most`` are its limits.  The greatest value
    may depend on other sizes, as an index does on the size of its axis; such a size has the multiple 1 and no default.
    """

    name: str
    default: int | None
    least: int = 1
    most: Operand | None = None
    multiple: int = 1

    def __str__(self) -> str:
        return self.name if self.multiple == 1 else f"{self.name}//{self.multiple}"

    def at(self, sizes: Mapping[str, int]) -> int:
        """Return the value at the given sizes.

        Raises:
            UndecidedError: there is neither a value nor a default.
            NetcalcError: E502 the value is no multiple of ``multiple``.
        """
        value = sizes.get(self.name)
        if value is None:
            value = self.example
        if value is None:
            raise UndecidedError(f"the size of {self.name!r} is not known")
        if value % self.multiple:
            raise NetcalcError(Diagnostic("E502", f"{self.name} {self.refusal(value)}"))
        return value // self.multiple

    @property
    def example(self) -> int | None:
        """The default, or the value inside a block of :func:`examples`; None without either."""
        return _examples.get().get(self.name) if self.default is None else self.default

    def symbols(self) -> set[Symbol]:
        """Return the named size as a set."""
        return {self}

    def bounds(self) -> Interval:
        """Return the least and the greatest value, both within the limits."""
        most = math.inf if self.most is None else bounds_of(self.most)[1]
        return -(-self.least // self.multiple), most // self.multiple if isinstance(most, int) else most

    @property
    def limit(self) -> Symbolic | None:
        """The greatest value if it depends on other sizes, None otherwise."""
        return None if isinstance(self.most, int) else self.most

    @property
    def weight(self) -> int:
        """Number of terms of the operands: none."""
        return 0

    def refusal(self, value: object) -> str | None:
        """Return the requirement that a value of the size violates, or None if the size can have it."""
        if isinstance(value, bool) or not isinstance(value, int) or value < self.least:
            return f"should be a whole number of at least {self.least}, not {written(value, quoted=True)}"
        if isinstance(self.most, int) and value > self.most:
            return f"should be at most {self.most}, not {value}"
        return f"should be a multiple of {self.multiple}, not {value}" if value % self.multiple else None


class Call(NamedTuple):
    """A function of sizes: ``//`` of two, ``min`` or ``max`` of two or more."""

    function: str
    operands: tuple[Operand, ...]

    def __str__(self) -> str:
        if self.function == "//":
            left, right = self.operands
            return _merged_floors(left, right) or f"{_in_parentheses(left)}//{_in_parentheses(right)}"
        return f"{self.function}({', '.join(map(str, self.operands))})"

    def at(self, sizes: Mapping[str, int]) -> int:
        """Return the value at the given sizes."""
        values = [value_at(operand, sizes) for operand in self.operands]
        if self.function == "//":
            return values[0] // values[1]
        return min(values) if self.function == "min" else max(values)

    @property
    def weight(self) -> int:
        """Number of terms of the operands."""
        return sum(1 if isinstance(operand, int) else operand.weight for operand in self.operands)

    def symbols(self) -> set[Symbol]:
        """Return the named sizes that occur."""
        return {symbol for operand in self.operands if not isinstance(operand, int) for symbol in operand.symbols()}

    def bounds(self) -> Interval:
        """Return a lower and an upper bound."""
        bounds = [bounds_of(operand) for operand in self.operands]
        if self.function == "//":
            return intervals.over(*bounds)
        pick = min if self.function == "min" else max
        return pick(low for low, _ in bounds), pick(high for _, high in bounds)


class CeilLog2(NamedTuple):
    """⌈log₂ size⌉ of a symbolic size."""

    size: Symbolic

    def __str__(self) -> str:
        return f"ceil_log2({self.size})"

    def at(self, sizes: Mapping[str, int]) -> int:
        """Return the value at the given sizes."""
        return (self.size.at(sizes) - 1).bit_length()

    @property
    def weight(self) -> int:
        """Number of terms of the size."""
        return self.size.weight

    def symbols(self) -> set[Symbol]:
        """Return the named sizes that occur."""
        return self.size.symbols()

    def bounds(self) -> Interval:
        """Return a lower and an upper bound."""
        return intervals.log2(self.size.bounds())


class Foreign(Protocol):
    """A whole number that another part of the program defines, of sizes among others."""

    def at(self, sizes: Mapping[str, int]) -> int: ...
    def symbols(self) -> set[Symbol]: ...
    def bounds(self) -> Interval: ...
    def substituted(self, sizes: Mapping[str, Any]) -> Operand:
        """Return the number with the named sizes replaced."""

    @property
    def weight(self) -> int: ...


Atom: TypeAlias = Symbol | Call | CeilLog2 | Foreign


def _merged_floors(left: Operand, right: Operand) -> str | None:
    """Return (h//32)//2 as h//64, if h//32 is a size divided by the number that divides it."""
    if isinstance(left, int) or not isinstance(right, int):
        return None
    (monomial, coefficient), *others = left.monomials()
    factor = monomial[0][0] if len(monomial) == 1 else None
    if others or coefficient != 1 or not isinstance(factor, Symbol) or monomial[0][1] != 1:
        return None
    return str(factor._replace(multiple=factor.multiple * right))


def _in_parentheses(dim: Operand) -> str:
    text = str(dim)
    return text if text.isidentifier() or text.isdigit() else f"({text})"
