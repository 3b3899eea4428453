"""Places in arrays: broadcasting, and lines along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.verification.references import Array


def place_in(shape: Sequence[int], place: Sequence[int]) -> tuple[int, ...]:
    """Return the place in an array of ``shape`` that a place in the broadcast array reads; axes align at the last."""
    own = place[len(place) - len(shape) :]
    return tuple(0 if size == 1 else n for size, n in zip(shape, own, strict=True))


def along(x: Array, place: Sequence[int], axis: int, part: slice = slice(None)) -> Array:
    """Return the elements along an axis, or a part of them, at a place of the other axes."""
    chosen: list[Any] = list(place)
    chosen[axis] = part
    elements: Array = x[tuple(chosen)]
    return elements
