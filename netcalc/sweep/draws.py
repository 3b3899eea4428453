"""Drawn points of a plan, many at once: the permutation of :mod:`netcalc.sweep.plan` on arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netcalc.arrays import Array


def permuted(start: int, stop: int, size: int, bits: int, keys: Sequence[int]) -> list[int]:
    """Return the numbers below a size that stand at places of a permutation, as for single places.

    Args:
        start: the first place.
        stop: place behind the last one.
        size: number of the numbers.
        bits: bits of each half of a number, at most 31.
        keys: keys of the rounds.
    """
    numbers = np.arange(start, stop, dtype=np.uint64)
    outside = np.arange(len(numbers))
    while len(outside):
        left, right = numbers[outside] >> np.uint64(bits), numbers[outside] & np.uint64((1 << bits) - 1)
        for key in keys:
            left, right = right, left ^ (_mixed(right, key) & np.uint64((1 << bits) - 1))
        numbers[outside] = (left << np.uint64(bits)) | right
        outside = outside[numbers[outside] >= size]
    return numbers.tolist()


def _mixed(numbers: Array, key: int) -> Array:
    """Return 64 bits for each number and the key, whose sum has 64 bits or a few more."""
    total = numbers + np.uint64(key)  # modulo 2⁶⁴
    carried = total < numbers
    mixed = _finalized(total)
    return np.where(carried, _finalized(mixed + np.uint64(1)), mixed)


def _finalized(numbers: Array) -> Array:
    """Return the finalizer of SplitMix64."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Array = numbers ^ (numbers >> np.uint64(31))
    return mixed
