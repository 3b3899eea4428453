"""Number of tokens whose caches fit into a budget of memory.

Reserved memory grows in steps of cells and pages, and not at all beyond a window, so that the number is searched for.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence

from netcalc.amounts import size_in_bytes
from netcalc.analysis.caches.conventions import CacheConvention
from netcalc.analysis.caches.layers import LayerCache, reserved
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import integer

#: Beyond this number of tokens a network is taken to decode without an end.
MOST_TOKENS = 1 << 48


def budget_bytes(text: str) -> int:
    """Return the bytes that ``16GiB``, ``24 GB``, ``512MiB`` or a number stands for; NetcalcError (E502) for others.

    >>> budget_bytes("16GiB"), budget_bytes("1.5 GB"), budget_bytes("4096")
    (17179869184, 1500000000, 4096)
    """
    size = size_in_bytes(text)
    if size is None:
        message = f"--tokens-in {text}: should be a number of bytes, such as 16GiB or 24GB"
        raise NetcalcError(Diagnostic("E502", message))
    return size


def tokens_that_fit(caches: Sequence[LayerCache], convention: CacheConvention, budget: int) -> int | None:
    """Return the most tokens of each sequence whose caches and states take at most ``budget`` bytes.

    It is −1 if not even the states fit, and None if any number does.

    Raises:
        UndecidedError: if a size is symbolic.
    """
    return most_that_fits(lambda tokens: integer(reserved(caches, convention, tokens)) <= budget)


def most_that_fits(fits: Callable[[int], bool]) -> int | None:
    """Return the largest number that fits, where all smaller ones do; −1 if 0 does not, None if any number does."""
    if fits(MOST_TOKENS):
        return None
    return bisect(range(MOST_TOKENS), False, key=lambda number: not fits(number)) - 1
