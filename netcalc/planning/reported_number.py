"""Numbers as papers and tools print them: digits, a prefix, and perhaps a unit."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError

_NUMBER = re.compile(r"(\d{1,30}(?:,\d{3})*)(\.\d{1,12})?\s*(?:([kKMGBTPEZ])?\s*(MAC|FLOP)?s?)", re.ASCII)
_BYTES = re.compile(r"(\d{1,30}(?:,\d{3})*)(\.\d{1,12})?\s*(?:([kKMGTP])(i?)B?|B|bytes?)?", re.ASCII)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "b": 3, "t": 4, "p": 5, "e": 6, "z": 7}
#: Bases of prefixes, the usual one first.
BASES = (1000, 1024)


class Reported(NamedTuple):
    """A number with the power of its prefix; ``step`` is one of its last printed digit."""

    digits: Fraction
    step: Fraction
    power: int
    unit: str = ""
    bases: tuple[int, ...] = BASES
    """Bases that the prefix may have, the one that it says first; a single one without a prefix."""

    def of(self, base: int) -> Fraction:
        """Return the number with a prefix of powers of a base."""
        unit: int = base**self.power
        return self.digits * unit

    def interval(self, base: int) -> tuple[Fraction, Fraction]:
        """Return the least and the largest value that are printed so."""
        unit: int = base**self.power
        return (self.digits - self.step / 2) * unit, (self.digits + self.step / 2) * unit


def reported_number(text: str, option: str, *, units: bool) -> Reported:
    """Return the number that a text stands for.

    Args:
        text: the number.
        option: the option that has it, for errors.
        units: True for work, whose number needs a prefix or a unit.

    Raises:
        NetcalcError: E502 for another text, and for one whose unit is not clear.

    >>> reported_number("11.29 GMAC", "--reported", units=True)
    Reported(digits=Fraction(1129, 100), step=Fraction(1, 100), power=3, unit='MAC', bases=(1000, 1024))
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None or (match[4] and not units):
        example = "11.29G, 11.29GMAC or 4,089,184,256 MAC" if units else "58.07M or 86567656"
        raise NetcalcError(Diagnostic("E502", f"{option} {text}: should be a number, such as {example}"))
    prefix, unit = (match[3] or "").lower(), match[4] or ""
    if not prefix and not unit and (units or match[2]):
        hint = f"{text}G, {text}M, {text}GMAC or {text}GFLOP" if units else f"{text}M or {text}B"
        raise NetcalcError(Diagnostic("E502", f"{option} {text}: in which unit?", hint=hint))
    return _reported(match[1], match[2] or "", _POWERS[prefix], unit, BASES)


def reported_bytes(text: str, option: str) -> Reported:
    """Return the number of bytes that a text stands for; GB is of powers of 1000, or else of 1024, and GiB of 1024.

    Raises:
        NetcalcError: E502 for another text, and for one whose unit is not clear.

    >>> reported_bytes("16.1GiB", "--reported-memory").bases
    (1024, 1000)
    """
    match = _BYTES.fullmatch(text.strip())
    if match is None:
        message = f"{option} {text}: should be bytes, such as 16.1GiB, 97.7MB or 24,964,497,408 bytes"
        raise NetcalcError(Diagnostic("E502", message))
    prefix = (match[3] or "").lower()
    if not prefix and (match[2] or not text.strip()[-1].isalpha()):
        raise NetcalcError(
            Diagnostic("E502", f"{option} {text}: in which unit?", hint=f"{text}GB, {text}GiB, {text}MB")
        )
    return _reported(match[1], match[2] or "", _POWERS[prefix], "", BASES[::-1] if match[4] else BASES)


def _reported(digits: str, fraction: str, power: int, unit: str, bases: tuple[int, ...]) -> Reported:
    step = Fraction(1, 10 ** max(len(fraction) - 1, 0))
    number = Fraction(digits.replace(",", "") + fraction)
    return Reported(number, step, power, unit, bases if power else bases[:1])
