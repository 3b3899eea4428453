"""Figures as a source prints them: a number, a unit, and how far from it a computed one may be."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, NamedTuple

#: Units by name; a count of parameters in 10⁹ is B, and bytes are written out.
UNITS: dict[str, Fraction] = {
    **{prefix: Fraction(10**power) for prefix, power in {"k": 3, "K": 3, "M": 6, "G": 9, "B": 9, "T": 12}.items()},
    **{f"{prefix}B": Fraction(10**power) for prefix, power in {"k": 3, "K": 3, "M": 6, "G": 9, "T": 12}.items()},
    **{f"{prefix}iB": Fraction(2**power) for prefix, power in {"K": 10, "M": 20, "G": 30, "T": 40}.items()},
    "%": Fraction(1, 100),
    **dict.fromkeys(("", "bytes", "elements", "tokens", "bits", "FLOP", "days", "PF-days"), Fraction(1)),
}
#: Units of which a whole number is printed in full.
_COUNTS = ("", "bytes", "elements", "tokens", "FLOP")
_PRINTED = re.compile(r"(?:about )?(-?[\d,]*\d(?:\.\d+)?)(?:e([+-]?\d+))? ?([A-Za-z%-]*)")


class Printed(NamedTuple):
    """A printed figure; all but the unit in numbers without one."""

    text: str
    """The figure as it is printed."""
    number: Fraction
    """Its value: bytes, parameters, a share."""
    unit: str
    """Its unit, by the name that says how large it is."""
    tolerance: Fraction
    """Half of the last printed digit; 0 for a whole number that is printed in full."""
    decimals: int
    """Printed digits after the point."""
    exponent: int | None
    """Power of ten of a number such as 3.14e23."""

    def is_reached_by(self, value: float | Fraction) -> bool:
        """Return True if a value rounds to the printed digits."""
        return abs(Fraction(value) - self.number) <= self.tolerance

    def shown(self, value: float) -> str:
        """Return a value as the figure is printed, with up to two digits more."""
        scaled = Fraction(value) / UNITS[self.unit]
        if self.exponent is not None:
            return f"{float(scaled):.{self.decimals + 2}e}".replace("e+", "e") + self._suffix
        if self.tolerance == 0 and scaled.denominator == 1:
            return f"{int(scaled):,}{self._suffix}"
        rounded = round(scaled, self.decimals + 2)  # not a negative zero
        whole, _, rest = f"{float(rounded):,.{self.decimals + 2}f}".partition(".")
        rest = rest.rstrip("0").ljust(self.decimals, "0")
        return (f"{whole}.{rest}" if rest else whole) + self._suffix

    @property
    def _suffix(self) -> str:
        return f" {self.unit}" if self.unit else ""


def printed_figure(printed: Any, means: str = "", digits: int | None = None) -> Printed:
    """Return a printed figure; ValueError for a text that is none.

    Args:
        printed: text such as ``"59.25 GiB"``, or a number, which is exact if it is whole.
        means: the unit that is meant, where the source prints another name for it: GB for GiB.
        digits: number of significant digits of a whole number that is rounded; None for one that is printed in full.

    >>> printed_figure("45.7 %").is_reached_by(0.45732)
    True
    >>> printed_figure("800 KB", "KiB").number
    Fraction(819200, 1)
    """
    text = str(printed)
    match = _PRINTED.fullmatch(text)
    if match is None:
        raise ValueError(f"should be a number with a unit, such as 59.25 GiB or 3.14e23, not {text!r}")
    unit = means or match[3]
    if unit not in UNITS:
        raise ValueError(f"the unit should be one of {', '.join(filter(None, UNITS))}, not {unit!r}")
    decimals = len(match[1].partition(".")[2])
    power = Fraction(10) ** int(match[2] or 0)
    number = Fraction(match[1].replace(",", "")) * power * UNITS[unit]
    is_exact = not decimals and match[2] is None and unit in _COUNTS
    tolerance = Fraction(0) if is_exact else Fraction(1, 2 * 10**decimals) * power * UNITS[unit]
    if digits is not None:
        whole = match[1].replace(",", "")
        if decimals or match[2] is not None or len(whole) <= digits or whole[digits:].strip("0"):
            raise ValueError(f"digits are those of a whole number that ends in zeros, which {text!r} does not")
        tolerance = Fraction(10 ** (len(whole) - digits), 2) * UNITS[unit]
    return Printed(text, number, unit, tolerance, decimals, int(match[2]) if match[2] else None)
