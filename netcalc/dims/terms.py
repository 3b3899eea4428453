"""Arithmetic on sums of terms: products of powers of atoms with integer coefficients."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

from netcalc.dims.atoms import Atom, Call, Operand, Symbol

#: A product of powers of atoms; the empty one is 1.
Monomial: TypeAlias = tuple[tuple[Atom, int], ...]
#: The coefficient of each monomial.
Terms: TypeAlias = Mapping[Monomial, int]


def terms_of(operand: Operand) -> Terms:
    """Return an operand of an atom as a sum of terms."""
    return {(): operand} if isinstance(operand, int) else dict(operand.monomials())


def single_calls(terms: Terms) -> list[tuple[Call, int]]:
    """Return the functions that are a term by themselves, with their coefficients."""
    single = [(m[0], c) for m, c in terms.items() if len(m) == 1]
    return [(factor, c) for (factor, power), c in single if power == 1 and isinstance(factor, Call)]


def total(a: Terms, b: Terms, factor: int = 1) -> dict[Monomial, int]:
    """Return a + factor · b."""
    terms = dict(a)
    for monomial, coefficient in b.items():
        terms[monomial] = terms.get(monomial, 0) + factor * coefficient
    return terms


def weight_of(terms: Terms) -> int:
    """Return the number of terms, including the terms of the operands of atoms."""
    weight = len(terms)
    for monomial in terms:
        for atom, _ in monomial:
            if type(atom) is not Symbol:
                weight += atom.weight
    return weight


def multiply(a: Terms, b: Terms) -> dict[Monomial, int]:
    """Return a · b."""
    terms: dict[Monomial, int] = {}
    for m1, c1 in a.items():
        for m2, c2 in b.items():
            monomial = _times(m1, m2)
            terms[monomial] = terms.get(monomial, 0) + c1 * c2
    return terms


def quotient(a: Terms, b: Terms) -> dict[Monomial, int] | None:
    """Return a / b if it is a sum of terms with whole coefficients, else None; ``b`` is not empty."""
    rank = ranking(a, b)
    leading, coefficient = max(b.items(), key=rank)
    result: dict[Monomial, int] = {}
    rest = {monomial: c for monomial, c in a.items() if c}
    while rest:  # long division, highest terms first
        monomial, c = max(rest.items(), key=rank)
        powers = _over(monomial, leading)
        if powers is None or c % coefficient:
            return None
        part = {powers: c // coefficient}
        result = total(result, part)
        rest = {monomial: c for monomial, c in total(rest, multiply(part, b), -1).items() if c}
    return result


def common_factor(*sums: Terms) -> dict[Monomial, int]:
    """Return the greatest single term that divides every term of all sums."""
    terms = [term for terms_of_sum in sums for term in terms_of_sum.items()]
    shared = dict(terms[0][0])
    for monomial, _ in terms:
        powers = dict(monomial)
        shared = {atom: min(power, powers[atom]) for atom, power in shared.items() if atom in powers}
    return {tuple(shared.items()): math.gcd(*(c for _, c in terms))}


def ranking(*sums: Terms) -> Callable[[tuple[Monomial, int]], tuple[int, ...]]:
    """Return a sort key of terms that is compatible with multiplication: degree, then the power of each atom."""
    atoms = sorted({atom for terms in sums for monomial in terms for atom, _ in monomial}, key=str)

    def rank(item: tuple[Monomial, int]) -> tuple[int, ...]:
        powers = dict(item[0])
        return sum(powers.values()), *(powers.get(atom, 0) for atom in atoms)

    return rank


def text_of(terms: Terms, number: Callable[[int], str] = str) -> str:
    """Return the sum as text, which evaluates to its value: ``h*w - 2*(h//2) + 1``; ``number`` writes coefficients."""
    text = ""
    for monomial, coefficient in terms.items():
        factors, size = _factors(monomial, abs(coefficient))
        # -h//2 would read as (-h)//2
        alone = sum(factors.values()) == 1 and size == 1 and (coefficient > 0 or text != "")
        parts = [_power(factor, power, alone) for factor, power in factors.items()]
        body = "*".join(([number(size)] if size != 1 or not parts else []) + parts)
        if text:
            text += f" {'-' if coefficient < 0 else '+'} {body}"
        else:
            text = f"{'-' if coefficient < 0 else ''}{body}"
    return text


def _factors(monomial: Monomial, coefficient: int) -> tuple[dict[str, int], int]:
    """Return the factors of a term as text with their powers, and its coefficient.

    A size that is a multiple of 32 takes factors of 32 from the coefficient: 64·(h//32) is 2·h.
    """
    factors: dict[str, int] = {}
    for atom, power in monomial:
        multiple = atom.multiple if isinstance(atom, Symbol) else 1
        for _ in range(power):
            shared = math.gcd(coefficient, multiple)
            coefficient //= shared
            text = str(atom._replace(multiple=multiple // shared)) if isinstance(atom, Symbol) else str(atom)
            factors[text] = factors.get(text, 0) + 1
    return factors, coefficient


def _times(m1: Monomial, m2: Monomial) -> Monomial:
    if not m1 or not m2:
        return m1 or m2
    powers: dict[Atom, int] = dict(m1)
    for atom, power in m2:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: (str(item[0]), item[1])))


def _over(m1: Monomial, m2: Monomial) -> Monomial | None:
    """Return m1 / m2, or None if a power would be negative."""
    powers = dict(m1)
    for atom, power in m2:
        powers[atom] = powers.get(atom, 0) - power
    return None if any(p < 0 for p in powers.values()) else tuple((a, p) for a, p in powers.items() if p)


def _power(text: str, power: int, alone: bool) -> str:
    if "//" in text and not alone:
        text = f"({text})"
    return text if power == 1 else f"{text}**{power}"
