"""Integers with a scale and a zero point for each group of columns."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array


def groups_in_order(columns: int, size: int | None, count: int) -> Array:
    """Return the group of each column; a size of None or −1 makes one group of all.

    Raises:
        ValueError: there are more or fewer groups than ``count``, the number of those that have scales.
    """
    size = size if size and size > 0 else max(columns, 1)
    if -(-columns // size) != count:
        raise ValueError(f"{columns} columns are {-(-columns // size)} groups of {size}, and {count} have scales")
    return np.arange(columns) // size


def groups_named(groups: Array, count: int) -> Array:
    """Return the group of each column as it is stored.

    Raises:
        ValueError: it is not among the ``count`` groups that have scales.
    """
    if not ((groups >= 0) & (groups < count)).all():
        raise ValueError(f"g_idx names groups beyond the {count} that have scales")
    return groups.astype(np.int64)


def scaled(codes: Array, zeros: Array, scales: Array, groups: Array) -> Array:
    """Return (code − zero point)·scale in float32.

    Args:
        codes: integers, (rows, columns).
        zeros: zero points, (groups, rows).
        scales: scales, (groups, rows).
        groups: the group of each column.
    """
    zeros, scales = (part.astype(np.float32)[groups].T for part in (zeros, scales))
    numbers: Array = (codes.astype(np.float32) - zeros) * scales
    return numbers
