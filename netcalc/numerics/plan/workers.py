"""Those who do their parts of a step side by side, and what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeAlias

import numpy as np

__all__ = ["Part", "Phases", "WorkerLostError", "Workers", "quick_loops"]

Part: TypeAlias = Callable[[], None]
#: By number, the parts that are done side by side; the first is the caller's.
Phases: TypeAlias = Sequence[Sequence[Part]]

#: Elements of NumPy's buffer.  Loops over strided arrays are cut to it even where nothing is buffered; with the
#: default, 8192, they take up to twice the time.
_BUFFER = 512


class WorkerLostError(Exception):
    """A worker failed or ended, or there can be none: what it would have done is still to do."""


class Workers(Protocol):
    """They are made with the phases and how many they are, the caller among them; they end with the object."""

    @property
    def alive(self) -> bool:
        """Whether they can be told to run."""

    @property
    def held(self) -> int:
        """Bytes of memory that they hold and the caller does not."""

    def run(self, number: int) -> None:
        """Does all parts of a phase; returns, or raises what the first to fail did, once all have ended."""


@contextmanager
def quick_loops() -> Iterator[None]:
    """Infinities and NaNs are values here, not warnings, and loops over rows start quickly."""
    with np.errstate(all="ignore"):
        before = np.setbufsize(_BUFFER)
        try:
            yield
        finally:
            np.setbufsize(before)
