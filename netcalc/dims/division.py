"""Division of sizes: exact where the form allows it, else down to the next whole number."""

from __future__ import annotations

import math
from collections.abc import Callable

from netcalc.dims.atoms import Call, Monomial, over
from netcalc.dims.polynomial import Dim, Poly, atom, simplest, terms_of

__all__ = ["ceil_div", "exact_div", "floor_div"]


def ceil_div(a: Dim, b: Dim) -> Dim:
    """⌈a / b⌉ for a positive ``b``."""
    return (a + b - 1) // b


def exact_div(a: Dim, b: Dim) -> Dim | None:
    """``a / b`` where that is a whole number by form, else None.

    >>> from netcalc.dims import symbol
    >>> h, w = symbol("h"), symbol("w")
    >>> str(exact_div((h - 2) * (w - 2), h - 2))
    'w - 2'
    """
    if b == 0:
        return None
    rank = _ranking(a, b)
    leading, coefficient = max(terms_of(b).items(), key=rank)
    quotient: Dim = 0
    while a != 0:  # long division, highest terms first
        monomial, c = max(terms_of(a).items(), key=rank)
        powers = over(monomial, leading)
        if powers is None or c % coefficient:
            return None
        part = simplest({powers: c // coefficient})
        quotient, a = quotient + part, a - part * b
    return quotient


def floor_div(a: Dim, b: Dim) -> Dim:
    """⌊a / b⌋: what divides by form, and an atom for the rest."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if b == 0:
        raise ZeroDivisionError("division of a size by zero")
    if max(terms_of(b).items(), key=_ranking(b))[1] < 0:
        return floor_div(a * -1, b * -1)
    if isinstance(b, int):
        return _floor_div_int(a, b)
    exact = exact_div(a, b)
    if exact is not None:
        return exact
    # ⌊(b·q + r)/b⌋ = q + ⌊r/b⌋, as every atom is whole
    whole: Dim = 0
    rest: Dim = 0
    for term in terms_of(a).items():
        part = simplest(dict([term]))
        quotient = exact_div(part, b)
        whole, rest = (whole, rest + part) if quotient is None else (whole + quotient, rest)
    common = _common_factor(rest, b)
    if common != 1:  # ⌊k·r / k·b⌋ = ⌊r/b⌋
        return whole + floor_div(_exactly(rest, common), _exactly(b, common))
    return whole + _quotient(rest, b)


def _floor_div_int(a: Dim, b: int) -> Dim:
    """⌊a/b⌋ for a positive integer."""
    whole = simplest({monomial: c // b for monomial, c in terms_of(a).items()})
    rest = simplest({monomial: c % b for monomial, c in terms_of(a).items()})
    if isinstance(rest, int):
        return whole
    shared = math.gcd(b, *(c for monomial, c in rest.monomials() if monomial))
    if shared > 1:  # ⌊(k·r + c)/(k·b)⌋ = ⌊(r + ⌊c/k⌋)/b⌋
        return whole + floor_div(simplest({m: c // shared for m, c in rest.monomials()}), b // shared)
    floors = _floors(rest)
    if len(floors) == 1:  # ⌊(⌊p/q⌋ + r)/b⌋ = ⌊(p + r·q)/(q·b)⌋
        (floor,) = floors
        others = rest - atom(floor)
        return whole + floor_div(floor.left + others * floor.right, floor.right * b)
    return whole + _quotient(rest, b)


def _quotient(a: Dim, b: Dim) -> Dim:
    """The atom ⌊a/b⌋, or a number where the bounds leave but one: ⌊−1/a⌋ is −1 at every size."""
    call = Call("//", a, b)
    low, high = call.bounds()
    return low if isinstance(low, int) and low == high else atom(call)


def _ranking(*dims: Dim) -> Callable[[tuple[Monomial, int]], tuple[int, ...]]:
    """An order of terms that multiplication keeps: by degree, then by the powers of each atom in turn."""
    atoms = sorted({factor for dim in dims for m in terms_of(dim) for factor, _ in m}, key=str)

    def rank(item: tuple[Monomial, int]) -> tuple[int, ...]:
        powers = dict(item[0])
        return sum(powers.values()), *(powers.get(factor, 0) for factor in atoms)

    return rank


def _common_factor(*dims: Dim) -> Dim:
    """The greatest one-term divisor of all of them."""
    terms = [term for dim in dims for term in terms_of(dim).items()]
    shared = dict(terms[0][0])
    for monomial, _ in terms:
        powers = dict(monomial)
        shared = {factor: min(p, powers[factor]) for factor, p in shared.items() if factor in powers}
    return simplest({tuple(shared.items()): math.gcd(*(c for _, c in terms))})


def _exactly(a: Dim, b: Dim) -> Dim:
    quotient = exact_div(a, b)
    assert quotient is not None
    return quotient


def _floors(dim: Poly) -> list[Call]:
    """The terms of ``dim`` that are a floor division by a number."""
    alone = [m[0] for m, c in dim.monomials() if c == 1 and len(m) == 1]
    return [a for a, p in alone if p == 1 and isinstance(a, Call) and a.function == "//" and isinstance(a.right, int)]
