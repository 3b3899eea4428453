"""Reasons why operations have no rule, by operation or by family."""

from __future__ import annotations

from netcalc.formats.export.reasons import reason_of

#: Reason for complex numbers, which some operators move but none computes with.
COMPLEX = "the operators of ONNX take no complex numbers"
_LINEAR = "ONNX has no operator of it"
#: Reasons by operation, and for all others of a family by the family.
REASONS = {
    "erfinv": "ONNX has no inverse of Erf",
    "slogdet": "ONNX has the determinant alone, whose logarithm is lost where it is too large or too small",
    "linalg": _LINEAR,
    "decomposition": _LINEAR,
    "assignment": _LINEAR,
    "complex_numbers": COMPLEX,
    "fourier": COMPLEX,
    "random": "its numbers are drawn, and the generators of ONNX draw others",
    "unknown": "it stands for an operator that netcalc does not know",
}


def reason(name: str) -> str:
    """Return the reason why an operation has no rule.

    >>> reason("inv")
    'ONNX has no operator of it'
    """
    return reason_of(name, REASONS)
