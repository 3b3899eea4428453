"""Minima and maxima of several sizes, reduced to the operands that bounds leave open."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from netcalc.dims.atoms import Operand
from netcalc.dims.bounds import bounds_of_terms
from netcalc.dims.terms import single_calls, terms_of, total


def reduced(function: str, operands: Collection[Operand]) -> tuple[Operand, ...]:
    """Return the operands that decide the ``min`` or ``max`` of ``operands``, sorted by their text.

    Operands that are the same function of others are replaced by these. An operand is left out if another one is at
    most as large (``min``) or at least as large (``max``) at all sizes.
    """
    numbers = [operand for operand in operands if isinstance(operand, int)]
    if len(numbers) == len(operands):
        return (min(numbers) if function == "min" else max(numbers),)
    needed: list[Operand] = []
    for operand in sorted(_flattened_operands(function, operands), key=str):
        if not any(_precedes(function, other, operand) for other in needed):
            needed = [other for other in needed if not _precedes(function, operand, other)] + [operand]
    return tuple(needed)


def _flattened_operands(function: str, operands: Iterable[Operand]) -> dict[Operand, None]:
    flat: dict[Operand, None] = {}
    for operand in operands:
        terms = terms_of(operand)
        calls = single_calls(terms)
        nested = len(terms) == 1 and len(calls) == 1 and calls[0][1] == 1 and calls[0][0].function == function
        flat |= dict.fromkeys(calls[0][0].operands if nested else (operand,))
    return flat


def _precedes(function: str, operand: Operand, other: Operand) -> bool:
    """Return True if ``operand`` makes ``other`` superfluous at all sizes."""
    difference = {monomial: c for monomial, c in total(terms_of(operand), terms_of(other), -1).items() if c}
    low, high = bounds_of_terms(difference)
    return high <= 0 if function == "min" else low >= 0
