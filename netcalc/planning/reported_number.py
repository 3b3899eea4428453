"""Numbers as papers and tools print them: digits, a prefix, and perhaps a unit."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError

_NUMBER = re.compile(r"(\d{1,30}(?:,\d{3})*)(\.\d{1,12})?\s*(?:([kKMGBTP])?\s*(MAC|FLOP)?s?)", re.ASCII)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "b": 3, "t": 4, "p": 5}
#: Bases of prefixes.
BASES = (1000, 1024)


class Reported(NamedTuple):
    """A number with the power of its prefix; ``step`` is one of its last printed digit."""

    digits: Fraction
    step: Fraction
    power: int
    unit: str = ""

    @property
    def value(self) -> Fraction:
        """The number with a prefix of powers of 1000."""
        unit: int = 1000**self.power
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
    Reported(digits=Fraction(1129, 100), step=Fraction(1, 100), power=3, unit='MAC')
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None or (match[4] and not units):
        example = "11.29G, 11.29GMAC or 4,089,184,256 MAC" if units else "58.07M or 86567656"
        raise NetcalcError(Diagnostic("E502", f"{option} {text}: should be a number, such as {example}"))
    prefix, unit = (match[3] or "").lower(), match[4] or ""
    fraction = match[2] or ""
    if not prefix and not unit and (units or fraction):
        hint = f"{text}G, {text}M, {text}GMAC or {text}GFLOP" if units else f"{text}M or {text}B"
        raise NetcalcError(Diagnostic("E502", f"{option} {text}: in which unit?", hint=hint))
    step = Fraction(1, 10 ** max(len(fraction) - 1, 0))
    return Reported(Fraction(match[1].replace(",", "") + fraction), step, _POWERS[prefix], unit)
