"""Number of tokens whose caches fit into a budget together with the activations of the pass that computes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from netcalc.analysis.caches.beside import beside_caches
from netcalc.analysis.caches.conventions import CacheConvention
from netcalc.analysis.caches.fit import most_that_fits
from netcalc.analysis.caches.layers import LayerCache, reserved
from netcalc.diagnostics import NetcalcError
from netcalc.dims import integer
from netcalc.ir import Program
from netcalc.limits import MAX_POSITION


class ActivationsAt:
    """Peak of the ideal activations beside the caches at a number of positions; each is computed once.

    It is None where the network cannot have so many positions.
    """

    def __init__(self, program_at: Callable[[int], Program]) -> None:
        self._program_at = program_at
        self._known: dict[int, int | None] = {}
        self._refused: dict[int, str] = {}

    def __call__(self, positions: int) -> int | None:
        if positions not in self._known:
            try:
                self._known[positions] = beside_caches(self._program_at(positions)).peak
            except NetcalcError as error:
                self._known[positions] = None
                self._refused[positions] = error.diagnostics[0].message
        return self._known[positions]

    def refusal(self, positions: int) -> str | None:
        """Return why the network cannot have so many positions; None if it can."""
        self(positions)
        return self._refused.get(positions)


def tokens_with_activations(
    caches: Sequence[LayerCache], convention: CacheConvention, budget: int, activations_at: ActivationsAt
) -> int | None:
    """Return the most tokens of each sequence whose caches, states and activations take at most ``budget`` bytes.

    It is −1 if not one fits, and None if any number does, up to the last position of attention.  Caches and activations
    must not shrink with the tokens.  A program is built for few numbers only: activations are nearly linear between two
    of them, so that the next number is where a line says that the budget ends.
    """

    def held(tokens: int) -> int:
        return integer(reserved(caches, convention, tokens))

    def fits(tokens: int) -> bool:
        peak = activations_at(tokens)
        return peak is not None and held(tokens) + peak <= budget

    if not fits(1):
        return -1
    if fits(MAX_POSITION):
        return None
    low, high, by_line = 1, int(MAX_POSITION), True
    while high - low > 1:
        guess = _by_line(low, high, activations_at, held, budget) if by_line else (low + high) // 2
        guess = min(max(guess, low + 1), high - 1)
        before = high - low
        if not fits(guess):
            high = guess
        else:
            low = guess
            if low + 1 < high and not fits(low + 1):
                high = low + 1
        by_line = not by_line or 2 * (high - low) < before
    return low


def _by_line(low: int, high: int, activations_at: ActivationsAt, held: Callable[[int], int], budget: int) -> int:
    """Return the most tokens that fit if activations grow along a line between two numbers of tokens."""
    first, last = activations_at(low), activations_at(high)
    if first is None or last is None:
        return (low + high) // 2
    rise, run = last - first, high - low
    most = most_that_fits(lambda tokens: held(tokens) + first + rise * (tokens - low) // run <= budget)
    return high if most is None else most
