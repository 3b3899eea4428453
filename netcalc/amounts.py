"""Numbers and bytes with prefixes, as options and files write them."""

from __future__ import annotations

import re
from fractions import Fraction

_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)\s*([KMGT]i?)?B?", re.IGNORECASE)
_NUMBER = re.compile(r"(\d{1,30}(?:\.\d{1,9})?)\s*([kMGBT]?)", re.IGNORECASE)
_SHARE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*%")
_BYTES = "kmgt"
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "b": 3, "t": 4}


def size_in_bytes(text: str) -> int | None:
    """Return the bytes that ``16GiB``, ``24 GB``, ``512MiB`` or a number stands for; None for another text.

    >>> size_in_bytes("16GiB"), size_in_bytes("1.5 GB"), size_in_bytes("4096"), size_in_bytes("h100")
    (17179869184, 1500000000, 4096, None)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    number, prefix = Fraction(match[1]), (match[2] or "").lower()
    unit = (1024 if prefix.endswith("i") else 1000) ** (_BYTES.index(prefix[0]) + 1) if prefix else 1
    return int(number * unit)


def number_in(text: str) -> int | None:
    """Return the number that ``25M``, ``4.5 G``, ``1.4B`` or digits stand for, rounded down; None for another text.

    >>> number_in("15T"), number_in("1.4B"), number_in("300"), number_in("many")
    (15000000000000, 1400000000, 300, None)
    """
    match = _NUMBER.fullmatch(text.strip())
    return None if match is None else int(Fraction(match[1]) * 1000 ** _POWERS[match[2].lower()])


def share_in(text: str) -> Fraction | None:
    """Return the share that a percentage stands for; None for another text.

    >>> share_in("2.5%"), share_in("2.5")
    (Fraction(1, 40), None)
    """
    match = _SHARE.fullmatch(text.strip())
    return None if match is None else Fraction(match[1]) / 100
