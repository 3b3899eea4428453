"""Normalization of rows by a compiled kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from netcalc.arrays import Array
from netcalc.engine.native.library import bound


class _Norm(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("x", "out", "weight", "bias")),
        *((name, ctypes.c_ssize_t) for name in ("rows", "width", "x_stride", "out_stride", "centered")),
        ("eps", ctypes.c_float),
    )


def norm(
    x: Array, out: Array, weight: Array | None, bias: Array | None, eps: float, centered: bool
) -> Callable[[], object]:
    """Return the call that normalizes each row of ``x`` into ``out``, both of float32 and rows without gaps.

    Args:
        x: (rows, width).
        out: of the same shape.
        weight: a factor for each column.
        bias: added then, for each column.
        eps: added to the mean square.
        centered: True to subtract the mean of a row first.
    """
    vectors = (None if vector is None else vector.ctypes.data for vector in (weight, bias))
    strides = (array.strides[0] // array.itemsize for array in (x, out))
    arguments = _Norm(x.ctypes.data, out.ctypes.data, *vectors, *x.shape, *strides, centered, eps)
    return bound("norm", arguments, x, out, weight, bias)
