"""The largest number that fits a budget, where the need at a number is known but dear to compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

#: Numbers beyond which there is taken to be no edge.
MOST = 1 << 32
#: Numbers on a line that make it one.
_ON_LINE = 5


class Edge(NamedTuple):
    """The largest number that fits."""

    number: int | None
    """The number, 0 if not one fits; null if all that were tried fit, up to 2³²."""
    reason: str = ""
    """Reason why the next number is refused, where it is not the memory."""


class Line(NamedTuple):
    """Bytes that grow along a line between two numbers."""

    first: int
    last: int
    start: int
    """Bytes at the first number."""
    end: int
    """Bytes at the last number."""

    def last_within(self, budget: int) -> int | None:
        """Return the largest number whose bytes fit a budget; None if it is outside the line."""
        if not self.start <= budget < self.end:
            return None
        return self.first + (budget - self.start) * (self.last - self.first) // (self.end - self.start)


def line_through(known: Mapping[int, int]) -> Line | None:
    """Return the line through the last numbers of at least five that are known; None if they lie on none.

    >>> line_through({n: 3 * n + 1 for n in (2, 5, 9, 10, 30)}).last_within(70)
    23
    """
    numbers = sorted(known)[-_ON_LINE:]
    if len(numbers) < _ON_LINE:
        return None
    first, last = numbers[0], numbers[-1]
    rise, run = known[last] - known[first], last - first
    if rise <= 0 or any((known[n] - known[first]) * run != rise * (n - first) for n in numbers):
        return None
    return Line(first, last, known[first], known[last])


def largest(fits: Callable[[int], bool], guess: Callable[[int, int | None], int | None], start: int = 1) -> int | None:
    """Return the largest number from 0 on that fits, where all smaller ones do; None if there is no edge below 2³².

    A guess and the next number are tried, so that a guess that is right ends the search; the interval is halved, or
    the number doubled, where there is no guess, or where guesses do not close in.

    Args:
        fits: True for a number that fits; it is asked for few numbers from 1 on.
        guess: the number at which the budget is expected to end, where the first argument fits and the second does
            not, which is None if no number is known that does not.  None if nothing can be expected.
        start: number that is tried first.

    >>> asked = []
    >>> def fits(n):
    ...     asked.append(n)
    ...     return 7 + 3 * n <= 100
    >>> largest(fits, lambda low, high: 31), asked
    (31, [1, 31, 32])
    """
    low, high = start, None
    if not fits(start):
        if start == 1 or not fits(1):
            return 0
        low, high = 1, start
    narrow = True
    while high is None or high - low > 1:
        if low >= MOST:
            return None
        width = None if high is None else high - low
        expected = guess(low, high) if narrow else None
        number = expected if expected is not None else 2 * low if high is None else (low + high) // 2
        number = min(max(number, low + 1), MOST if high is None else high - 1)
        fitting = fits(number)
        low, high = (number, high) if fitting else (low, number)
        if expected is not None and low < MOST and (high is None or high - low > 1):
            beside = number + 1 if fitting else number - 1
            low, high = (beside, high) if fits(beside) else (low, beside)
        narrow = not narrow or width is None or (high is not None and 2 * (high - low) < width)
    return low
