"""Integers with a scale and a zero point for each group of columns."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array


def groups_in_order(columns: int, size: int | None, scales: Array) -> Array:
    """Return the group of each column; a size of None or −1 makes one group of all.

    Raises:
        ValueError: there are more scales, (groups, rows), than groups, or fewer.
    """
    size = size if size and size > 0 else max(columns, 1)
    if -(-columns // size) != len(scales):
        raise ValueError(f"{columns} columns are {-(-columns // size)} groups of {size}, and {len(scales)} have scales")
    return np.arange(columns) // size


def scaled(codes: Array, zeros: Array, scales: Array, groups: Array) -> Array:
    """Return (code − zero point)·scale in float32.

    Args:
        codes: integers, (rows, columns).
        zeros: zero points, (groups, rows).
        scales: scales, (groups, rows).
        groups: the group of each column.

    Raises:
        ValueError: a group has no scales.
    """
    if not ((groups >= 0) & (groups < len(scales))).all():
        raise ValueError(f"g_idx names groups beyond the {len(scales)} that have scales")
    numbers: Array = (codes.astype(np.float32) - zeros.astype(np.float32)[groups].T) * scales.astype(np.float32)[
        groups
    ].T
    return numbers
