"""Tensors as they were before the conversion of a model to GGUF changed them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from netcalc.arrays import Array
from netcalc.weights.gguf.changes import Change


def undone(array: Array, change: Change) -> Array:
    """Return a tensor as it was before it was changed.

    Raises:
        ValueError: its shape does not fit the change.
    """
    return CHANGES[change.kind](array, *change.numbers)


def _rotated_pairs(array: Array, heads: float) -> Array:
    """The two features that are rotated together were put side by side, in each head."""
    return array.reshape(int(heads), -1, 2, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)


def _grouped(array: Array, heads: float, kv_heads: float) -> Array:
    """All queries, all keys and all values follow each other; before, each group had its own."""
    groups = int(kv_heads)
    parts = np.split(array.reshape(int(heads) + 2 * groups, -1, *array.shape[1:]), [int(heads), int(heads) + groups])
    joined = np.concatenate([part.reshape(groups, -1, *part.shape[1:]) for part in parts], axis=1)
    return joined.reshape(array.shape)


def _unit_axis(array: Array, axis: float, rank: float) -> Array:
    """An axis of size 1 was left out."""
    return np.expand_dims(array, int(axis)) if array.ndim < rank else array


#: The inverse of each kind of change.
CHANGES: dict[str, Callable[..., Array]] = {
    "added": lambda array, number: array - np.float32(number),
    "flat": lambda array: array.reshape(-1),
    "grouped": _grouped,
    "negative_exponential": lambda array: np.log(-array),
    "rotated_pairs": _rotated_pairs,
    "unit_axis": _unit_axis,
}
