"""Minima and maxima of several sizes, reduced to the operands that bounds leave open."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Mapping

from netcalc.dims.atoms import Operand, Symbol, UndecidedError, value_at
from netcalc.dims.bounds import is_at_least
from netcalc.dims.terms import single_calls, terms_of, total

#: Sizes at which operands are compared first: default sizes times the first number plus the second, within limits.
_SAMPLES = ((1, 0), (1, 1), (0, 0), (0, 3), (2, 1), (16, 5))


def reduced(function: str, operands: Collection[Operand]) -> tuple[Operand, ...]:
    """Return the operands that decide the ``min`` or ``max`` of ``operands``, sorted by their text.

    Operands that are the same function of others are replaced by these. An operand is left out if another one is at
    most as large (``min``) or at least as large (``max``) at all sizes.
    """
    numbers = [operand for operand in operands if isinstance(operand, int)]
    if len(numbers) == len(operands):
        return (min(numbers) if function == "min" else max(numbers),)
    flat = _flattened_operands(function, operands)
    samples = _samples(flat)
    needed: list[Operand] = []
    for operand in sorted(flat, key=str):
        if not any(_precedes(function, other, operand, samples) for other in needed):
            needed = [other for other in needed if not _precedes(function, operand, other, samples)] + [operand]
    return tuple(needed)


def _flattened_operands(function: str, operands: Iterable[Operand]) -> dict[Operand, None]:
    flat: dict[Operand, None] = {}
    for operand in operands:
        terms = terms_of(operand)
        calls = single_calls(terms)
        nested = len(terms) == 1 and len(calls) == 1 and calls[0][1] == 1 and calls[0][0].function == function
        flat |= dict.fromkeys(calls[0][0].operands if nested else (operand,))
    return flat


def _samples(operands: Iterable[Operand]) -> Mapping[Operand, tuple[int, ...]]:
    """Return the values of operands at a few sizes; empty if a size has no default, or limits that are sizes."""
    symbols = {symbol for operand in operands if not isinstance(operand, int) for symbol in operand.symbols()}
    if any(symbol.default is None or symbol.limit is not None for symbol in symbols):
        return {}
    points = [{symbol.name: _near(symbol, *sample) for symbol in symbols} for sample in _SAMPLES]
    try:
        return {operand: tuple(value_at(operand, sizes) for sizes in points) for operand in operands}
    except (ArithmeticError, TypeError, UndecidedError):  # of numbers that another part of the program defines
        return {}


def _near(symbol: Symbol, factor: int, more: int) -> int:
    """Return the default of a size times a factor, plus a number of its multiples, within its limits."""
    assert symbol.default is not None
    low, high = symbol.bounds()
    return int(min(max(symbol.default // symbol.multiple * factor + more, low), high)) * symbol.multiple


def _precedes(function: str, operand: Operand, other: Operand, samples: Mapping[Operand, tuple[int, ...]]) -> bool:
    """Return True if ``operand`` makes ``other`` superfluous at all sizes, of which some are tried first."""
    greater, less = (other, operand) if function == "min" else (operand, other)
    if samples and not all(map(operator.ge, samples[greater], samples[less])):
        return False
    difference = {monomial: c for monomial, c in total(terms_of(greater), terms_of(less), -1).items() if c}
    return is_at_least(difference, 0)
