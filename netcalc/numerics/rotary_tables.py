"""The attributes of a rotary embedding whose tables of cosines and sines are given."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels.rotary import tables
from netcalc.ops.rotary import RotaryEmbedding

#: Relative error of frequencies that are read from a table in single precision.
_ERROR = 3e-6


def rotary_attributes(cos: Array, sin: Array) -> dict[str, Any] | None:
    """Return theta and scaling of the tables (positions, pairs) of positions 0, 1, …; None if they are no such tables.

    Numbers are the shortest ones that give the frequencies in single precision.
    """
    cos, sin = np.asarray(cos, np.float64), np.asarray(sin, np.float64)
    positions, pairs = cos.shape
    if positions < 2 or cos.shape != sin.shape or not (np.isfinite(cos).all() and np.isfinite(sin).all()):
        return None
    frequencies = np.arctan2(sin[1], cos[1])
    if (frequencies <= 0).any():
        return None
    for attributes in (*_evenly_falling(frequencies), *_llama3(frequencies)):
        expected = tables(RotaryEmbedding(**attributes), 2 * pairs, np.arange(positions))
        # angles are products of a position and a rounded frequency
        allowed = 1e-5 + _ERROR * np.arange(positions)[:, None]
        if all((abs(table - actual) <= allowed).all() for table, actual in zip(expected, (cos, sin), strict=True)):
            return attributes
    return None


def _evenly_falling(frequencies: Array) -> Iterator[dict[str, Any]]:
    """Yield the attributes for frequencies that fall evenly, all divided by a factor."""
    pairs, first = len(frequencies), float(frequencies[0])
    theta = 10_000.0
    powers = np.arange(pairs) / pairs
    if pairs > 1:
        exact = (first / float(frequencies[-1])) ** (pairs / (pairs - 1))
        theta = _shortest(exact, lambda number: _near(number**-powers * first, frequencies))
    if not _near(theta**-powers * first, frequencies):
        return
    factor = _fewest_digits(1 / first)
    attributes = {} if theta == 10_000 else {"theta": theta}
    yield attributes if factor == 1 else {**attributes, "scaling": {"rope_type": "linear", "factor": factor}}


def _llama3(frequencies: Array) -> Iterator[dict[str, Any]]:
    """Yield the attributes for high frequencies that fall evenly, and lower ones divided by a factor or in between."""
    pairs = len(frequencies)
    if pairs < 4 or frequencies[-1] <= 0 or abs(frequencies[0] - 1) > _ERROR:
        return
    powers = np.arange(pairs) / pairs
    for last in range(pairs - 3, 0, -1):  # the last frequency that is not scaled
        exact = float(frequencies[last]) ** -(pairs / last)
        even = powers[: last + 1]
        theta = _shortest(exact, lambda number, even=even: _near(number**-even, frequencies[: len(even)]))  # type: ignore[misc]
        base = theta**-powers
        if not _near(base[: last + 1], frequencies[: last + 1]):
            continue
        factor = _fewest_digits(float(base[-1] / frequencies[-1]))
        if factor <= 1:
            return
        share = (frequencies / base - 1 / factor) / (1 - 1 / factor)
        between = np.flatnonzero((share > 1e-4) & (share < 1 - 1e-4))
        if len(between) < 2:
            return
        slope, start = np.polyfit(base[between], share[between], 1)
        if start >= 0:
            return
        # turns over the original length count in proportion to low_freq_factor, which is therefore taken as 1
        high = 1 - 1 / float(start)
        original = float(slope) * 2 * math.pi * (high - 1)
        scaling = {
            "rope_type": "llama3",
            "factor": factor,
            "low_freq_factor": 1.0,
            "high_freq_factor": float(f"{high:.4g}"),
            "original_max_position_embeddings": round(original),
        }
        yield {"theta": theta, "scaling": scaling}
        return


def _near(actual: Array, expected: Array) -> bool:
    return bool((abs(actual / expected - 1) <= _ERROR).all())


def _fewest_digits(number: float) -> float:
    """Return a number rounded as far as it stays the same in single precision."""
    return _shortest(number, lambda rounded: abs(rounded / number - 1) <= _ERROR)


def _shortest(number: float, fits: Callable[[float], bool]) -> float:
    """Return a number with as few digits as fit."""
    rounded = (float(f"{number:.{digits}g}") for digits in range(1, 9))
    return next((candidate for candidate in rounded if fits(candidate)), number)


def pairs_of(table: Array, features: int, interleaved: bool) -> Array | None:
    """Return the columns of a table (positions, columns) for each pair; None if the two of a pair differ.

    The table has a column for each feature or for each pair.
    """
    if 2 * table.shape[-1] == features:
        return table
    if table.shape[-1] != features or features % 2:
        return None
    pairs = features // 2
    first, second = (table[:, ::2], table[:, 1::2]) if interleaved else (table[:, :pairs], table[:, pairs:])
    return first if np.array_equal(first, second) else None
