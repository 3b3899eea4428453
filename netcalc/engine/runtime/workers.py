"""Those who do their parts of a step side by side, and what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeAlias

import numpy as np

__all__ = ["Alone", "Part", "Parts", "WorkerLostError", "Workers", "quick_loops"]

Part: TypeAlias = Callable[[], None]
#: Makes what the worker of a number does, phase by phase; that of number 0 is the caller.
Parts: TypeAlias = Callable[[int], Sequence[Part]]

#: Elements of NumPy's buffer.  Loops over strided arrays are cut to it even where nothing is buffered; with the
#: default, 8192, they take up to twice the time.
_BUFFER = 512


class WorkerLostError(Exception):
    """A worker failed or ended: what it would have done is still to do."""


class Workers(Protocol):
    """Made of what makes their parts and of how many they are, the caller among them; they end with the object."""

    @property
    def alive(self) -> bool:
        """Whether they can be told to run."""

    @property
    def held(self) -> int:
        """Bytes of memory that they hold and the caller does not."""

    def run(self, phase: int, own: Part, others: int) -> None:
        """The caller does its own part of a phase while so many of the others do theirs.

        Returns, or raises what the first to fail did, once all have ended.
        """


class Alone:
    """The caller, who does everything in turn."""

    alive = True
    held = 0

    def __init__(self, parts: Parts, count: int) -> None:
        self._parts = [parts(number) for number in range(1, count)]

    def run(self, phase: int, own: Part, others: int) -> None:
        """One part after the other."""
        own()
        for parts in self._parts[:others]:
            parts[phase]()


@contextmanager
def quick_loops() -> Iterator[None]:
    """Infinities and NaNs are values here, not warnings, and loops over rows start quickly."""
    with np.errstate(all="ignore"):
        before = np.setbufsize(_BUFFER)
        try:
            yield
        finally:
            np.setbufsize(before)
