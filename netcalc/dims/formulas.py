"""Sizes as formulas of other notations: mathematical text, LaTeX, Python, SymPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from netcalc.dims.atoms import Atom, Call, CeilLog2, Symbol
from netcalc.dims.polynomial import Dim, Poly, as_dim
from netcalc.dims.terms import Monomial
from netcalc.notation_options import Notation

_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
#: Functions of sizes in notations that are code.
_FUNCTIONS = {"python": {"min": "min", "max": "max"}, "sympy": {"min": "Min", "max": "Max"}}


class Factors(NamedTuple):
    """A term: a coefficient, and powers of sizes and of functions of sizes."""

    coefficient: int
    powers: tuple[tuple[Atom, int], ...]


def formula(dim: Dim, notation: Notation = "text", order: Sequence[str] = ()) -> str:
    """Return a size as a formula; the names in ``order`` come first in a term.

    Raises:
        ValueError: a function of sizes has no form in this notation.

    >>> from netcalc.dims import symbol
    >>> size = 12 * symbol("d_model") ** 2 * symbol("layers") + symbol("d_model") * 2048
    >>> formula(size, order=["layers", "d_model"])
    '12·layers·d_model² + 2,048·d_model'
    >>> print(formula(size, "latex"))
    12\\,d_{\\mathrm{model}}^{2}\\,\\mathrm{layers} + 2{,}048\\,d_{\\mathrm{model}}
    >>> formula(size // 3, "python")
    '4*d_model**2*layers + (2*d_model//3) + 682*d_model'
    """
    return _Writer(notation, order).sum(dim)


def written_term(factors: Factors) -> str:
    """Return one term of a size as text, as :func:`formula` writes it."""
    return _Writer("text", ()).factors(factors)


def factors(monomial: Monomial, coefficient: int, order: Sequence[str] = (), *, shared: bool = True) -> Factors:
    """Return a term with its factors in order.

    If ``shared``, a size that is a multiple of 32 takes factors of 32 from the coefficient: 64·(h/32) is 2·h.
    """
    powers: dict[Atom, int] = {}
    for atom, power in monomial:
        multiple = atom.multiple if isinstance(atom, Symbol) else 1
        for _ in range(power):
            common = math.gcd(coefficient, multiple) if shared else 1
            coefficient //= common
            own = atom._replace(multiple=multiple // common) if isinstance(atom, Symbol) else atom
            powers[own] = powers.get(own, 0) + 1
    place = {name: index for index, name in enumerate(order)}

    def rank(item: tuple[Atom, int]) -> tuple[int, str]:
        names = sorted(place.get(symbol.name, len(place)) for symbol in item[0].symbols())
        return (names[0] if names else len(place)) + len(place) * (not isinstance(item[0], Symbol)), str(item[0])

    return Factors(coefficient, tuple(sorted(powers.items(), key=rank)))


def superscript(power: int) -> str:
    """Return a power as mathematical text has it: ``²``; nothing for the power of 1."""
    return "" if power == 1 else str(power).translate(_SUPERSCRIPTS)


class _Writer:
    """Writer of sizes in one notation."""

    def __init__(self, notation: Notation, order: Sequence[str]) -> None:
        self._notation = notation
        self._order = order
        self._command = "\\" if notation == "latex" else ""
        self._times = {"text": "·", "latex": "\\,"}.get(notation, "*")

    def sum(self, dim: Dim) -> str:
        """Return a size."""
        if not isinstance(dim, Poly):
            return self._number(dim)
        text = ""
        for monomial, coefficient in dim.monomials():
            part = self.term(monomial, abs(coefficient))
            sign = "-" if self._notation in _FUNCTIONS else "−" if self._notation == "text" else "-"
            if text:
                text += f" {sign if coefficient < 0 else '+'} {part}"
            else:
                text = f"{sign}{part}" if coefficient < 0 else part
        return text

    def term(self, monomial: Monomial, coefficient: int) -> str:
        """Return one term."""
        return self.factors(factors(monomial, coefficient, self._order))

    def factors(self, term: Factors) -> str:
        """Return one term in its factors."""
        number, powers = term
        parts = [self._power(atom, power) for atom, power in powers]
        if number != 1 or not parts:
            parts.insert(0, self._number(number))
        return self._times.join(parts)

    def _number(self, number: int) -> str:
        if self._notation == "latex":
            return f"{number:,}".replace(",", "{,}")
        return f"{number:,}" if self._notation == "text" else str(number)

    def _power(self, atom: Atom, power: int) -> str:
        base = self._atom(atom)
        if power == 1:
            return base
        if self._notation == "text":
            return base + superscript(power)
        if self._notation == "latex":
            return f"{base if isinstance(atom, Symbol) and atom.multiple == 1 else f'({base})'}^{{{power}}}"
        return f"{base}**{power}"

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, Symbol):
            name = self._name(atom.name)
            return name if atom.multiple == 1 else self._quotient(name, self._number(atom.multiple), exact=True)
        if isinstance(atom, CeilLog2):
            return self._log2(self.sum(as_dim(atom.size)))
        if not isinstance(atom, Call):
            raise ValueError(f"{atom} has no form as a formula")
        operands = [self.sum(as_dim(operand)) for operand in atom.operands]
        if atom.function == "//":
            return self._quotient(operands[0], operands[1])
        name = _FUNCTIONS.get(self._notation, {}).get(atom.function, atom.function)
        return f"{self._command}{name}({', '.join(operands)})"

    def _quotient(self, dividend: str, divisor: str, *, exact: bool = False) -> str:
        """Return a quotient, rounded down unless it is ``exact``."""
        left = dividend if _is_plain(dividend, "_,·*") else f"({dividend})"
        right = divisor if _is_plain(divisor, "_,") else f"({divisor})"
        if self._notation == "python":
            return f"({left}//{right})"
        if self._notation == "sympy":
            return f"({left}/{right})" if exact else f"floor({left}/{right})"
        if self._notation == "latex":
            text = f"\\frac{{{dividend}}}{{{divisor}}}"
            return text if exact else f"\\left\\lfloor {text} \\right\\rfloor"
        return f"({left}/{right})" if exact else f"⌊{left}/{right}⌋"

    def _log2(self, size: str) -> str:
        return {
            "text": f"⌈log₂({size})⌉",
            "latex": f"\\lceil \\log_2({size}) \\rceil",
            "python": f"({size} - 1).bit_length()",
            "sympy": f"ceiling(log({size}, 2))",
        }[self._notation]

    def _name(self, name: str) -> str:
        if self._notation != "latex":
            return name
        first, *rest = name.split("_")
        base = first if len(first) == 1 else f"\\mathrm{{{first}}}"
        return base + (f"_{{\\mathrm{{{','.join(rest)}}}}}" if rest else "")


def _is_plain(text: str, others: str) -> bool:
    """Return True for a text of letters, digits and some other characters, which needs no parentheses."""
    return all(character.isalnum() or character in others for character in text)
