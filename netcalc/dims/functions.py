"""Functions of sizes: products, rounding, substitution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from netcalc.dims.atoms import Atom, CeilLog2, Symbol, bounds_of
from netcalc.dims.order import Assumption
from netcalc.dims.polynomial import Dim, as_dim, atom, maximum, minimum, operands

__all__ = ["ceil_div", "ceil_log2", "integer", "narrow", "product", "substitute"]


def product(dims: Iterable[Dim]) -> Dim:
    """Return the product of sizes; 1 for none.

    >>> product([64, 3, 7, 7])
    9408
    """
    result: Dim = 1
    for dim in dims:
        result = result * dim
    return result


def ceil_div(a: Dim, b: Dim) -> Dim:
    """Return ⌈a / b⌉ for a positive ``b``."""
    return (a + b - 1) // b


def ceil_log2(size: Dim) -> Dim:
    """Return ⌈log₂ size⌉ for a size of at least 1.

    >>> ceil_log2(1000)
    10
    """
    return (size - 1).bit_length() if isinstance(size, int) else atom(CeilLog2(size))


def integer(dim: Dim) -> int:
    """Return a size that is a number; UndecidedError if it is symbolic."""
    return dim if isinstance(dim, int) else dim.__index__()


def substitute(dim: Dim, sizes: Mapping[str, Dim]) -> Dim:
    """Return ``dim`` with the named sizes replaced; names that ``sizes`` lacks stay symbols.

    Raises:
        ZeroDivisionError: a divisor becomes 0.

    >>> from netcalc.dims import symbol
    >>> str(substitute((symbol("h") + symbol("w")) // 2, {"h": 7}))
    '(w + 1)//2 + 3'
    """
    if isinstance(dim, int):
        return dim
    result: Dim = 0
    for monomial, coefficient in dim.monomials():
        term: Dim = coefficient
        for one, power in monomial:
            term = term * _substituted(one, sizes) ** power
        result = result + term
    return result


def narrow(assumption: Assumption, sizes: Mapping[str, Dim]) -> tuple[Assumption, bool | None]:
    """Return an assumption with the named sizes replaced, and whether it then holds; None if that stays open."""
    left, right = (substitute(as_dim(side), sizes) for side in (assumption.left, assumption.right))
    narrowed = Assumption(left, assumption.relation, right)
    return narrowed, narrowed.within(bounds_of(left - right))


def _substituted(one: Atom, sizes: Mapping[str, Dim]) -> Dim:
    if isinstance(one, Symbol):
        return sizes.get(one.name, atom(one))
    if isinstance(one, CeilLog2):
        return ceil_log2(substitute(as_dim(one.size), sizes))
    left, right = (substitute(side, sizes) for side in operands(one))
    if one.function == "//":
        return left // right
    return minimum(left, right) if one.function == "min" else maximum(left, right)
