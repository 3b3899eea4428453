"""Orders between sizes: decided by bounds, or at the default values, which is then noted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from netcalc.dims.atoms import UndecidedError, bounds_of, value_at

if TYPE_CHECKING:
    from netcalc.dims.polynomial import Dim

__all__ = ["assumptions", "positive"]

_noted: ContextVar[list[str] | None] = ContextVar("_noted", default=None)


@contextmanager
def assumptions() -> Iterator[list[str]]:
    """Collects, in order and once each, what was assumed of symbolic sizes inside the block."""
    notes: list[str] = []
    token = _noted.set(notes)
    try:
        yield notes
    finally:
        _noted.reset(token)


def positive(dim: Dim, claim: str, converse: str) -> bool:
    """Whether ``dim`` is above zero; where bounds leave it open, the claim or its converse is noted as assumed.

    Raises:
        UndecidedError: where it is open, and a size in it has no default.
    """
    low, high = bounds_of(dim)
    if low > 0:
        return True
    if high <= 0:
        return False
    try:
        holds = value_at(dim, {}) > 0
    except UndecidedError as why:
        raise UndecidedError(f"whether {claim} is open: {why}") from None
    notes = _noted.get()
    text = claim if holds else converse
    if notes is not None and text not in notes:
        notes.append(text)
    return holds
