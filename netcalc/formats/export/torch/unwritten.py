"""Reasons why operations have no rule, by operation or by family."""

from __future__ import annotations

from netcalc.formats.export.reasons import reason_of

#: Reasons by operation, and for all others of a family by the family.
REASONS = {
    "identity": "it is left out",
    "blur_pool": "PyTorch has no operator of it",
    "assignment": "PyTorch has no operator of it",
    "random": "its numbers are drawn, and the generators of PyTorch draw others",
    "unknown": "it stands for an operator that netcalc does not know",
}


def reason(name: str) -> str:
    """Return the reason why an operation has no rule.

    >>> reason("blur_pool2d")
    'PyTorch has no operator of it'
    """
    return reason_of(name, REASONS)
