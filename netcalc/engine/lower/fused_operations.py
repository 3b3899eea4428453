"""Operations that an epilogue does on a tile, independent of the calls that will do them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from netcalc.engine.storage import Slot


class ByChannel(NamedTuple):
    """A ufunc of the tile and one value for each column."""

    ufunc: Callable[..., Any]
    vector: Slot


class Combine(NamedTuple):
    """A ufunc of the tile and another tensor in rows, a number, or the tile itself if ``other`` is None."""

    ufunc: Callable[..., Any]
    other: Slot | float | None
    reverse: bool


class Clip(NamedTuple):
    """Limits of the elements; None where there is none."""

    lowest: float | None
    highest: float | None


class Activate(NamedTuple):
    """An elementwise operation of the tile alone."""

    op: Any


FusedOperation: TypeAlias = ByChannel | Combine | Clip | Activate
