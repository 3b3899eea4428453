"""Sizes in bytes, as options and files write them."""

from __future__ import annotations

import re
from fractions import Fraction

_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)\s*([KMGT]i?)?B?", re.IGNORECASE)
_POWERS = "kmgt"


def size_in_bytes(text: str) -> int | None:
    """Return the bytes that ``16GiB``, ``24 GB``, ``512MiB`` or a number stands for; None for another text.

    >>> size_in_bytes("16GiB"), size_in_bytes("1.5 GB"), size_in_bytes("4096"), size_in_bytes("h100")
    (17179869184, 1500000000, 4096, None)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    number, prefix = Fraction(match[1]), (match[2] or "").lower()
    unit = (1024 if prefix.endswith("i") else 1000) ** (_POWERS.index(prefix[0]) + 1) if prefix else 1
    return int(number * unit)
