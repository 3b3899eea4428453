"""Products with a weight as it is stored, (columns, depth), by a compiled kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import NamedTuple

from netcalc.arrays import Array
from netcalc.engine.native.library import blocks, bound
from netcalc.engine.tuning import Tuning

#: The depth of panels is a multiple of this, unless it is less.
_UNIT = 16


class _Product(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("x", "weight", "out", "panels")),
        *((name, ctypes.c_ssize_t) for name in ("rows", "depth", "columns")),
        *((name, ctypes.c_ssize_t) for name in ("x_stride", "weight_stride", "out_stride")),
        *((name, ctypes.c_ssize_t) for name in ("rows_step", "depth_step")),
    )


class Panels(NamedTuple):
    """Rows, and their elements along the depth, that are packed at a time."""

    rows: int
    depth: int

    @classmethod
    def of(cls, rows: int, depth: int, tuning: Tuning) -> Panels:
        """Return panels of nearly equal size that fit the cache."""
        size = blocks()
        assert size is not None
        depth = _share(depth, tuning.compiled_product_depth, _UNIT)
        return cls(_share(rows, max(size.width, tuning.compiled_product_elements // depth), size.width), depth)

    @property
    def elements(self) -> int:
        """Elements of the scratch buffer."""
        return self.rows * self.depth


def rows_product(x: Array, weight: Array, out: Array, buffer: Array, panels: Panels) -> Callable[[], object]:
    """Return the call that computes ``out``, of (rows, columns), from ``x`` of (rows, depth) and a weight.

    Args:
        x: rows of float32, each without gaps.
        weight: (columns, depth), rows without gaps.
        out: rows without gaps.
        buffer: scratch of ``panels.elements``.
        panels: its use.
    """
    strides = (array.strides[0] // array.itemsize for array in (x, weight, out))
    addresses = (array.ctypes.data for array in (x, weight, out, buffer))
    arguments = _Product(*addresses, *x.shape, len(weight), *strides, *panels)
    return bound("rows_product", arguments, x, weight, out, buffer)


def _share(total: int, most: int, unit: int) -> int:
    """Return the size of nearly equal parts of at most ``most``, each but the last a multiple of ``unit``."""
    parts = -(-total // max(most // unit * unit, unit))
    return -(-total // (parts * unit)) * unit
