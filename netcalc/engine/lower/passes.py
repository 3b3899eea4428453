"""Passes over memory, of which jobs consist."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

#: A call with all of its arguments bound: a ufunc, a product or a copy.
Pass: TypeAlias = Callable[[], object]


class Passes:
    """A job that runs passes in order."""

    __slots__ = ("passes",)

    def __init__(self, passes: Iterable[Pass]) -> None:
        self.passes = tuple(passes)

    def __call__(self) -> None:
        for each in self.passes:
            each()
