"""Element types, and 8-bit floats with a scale."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from netcalc.arrays import Array, numpy_dtype
from netcalc.codecs.codec import Plain, Shape, Tensors
from netcalc.codecs.scales import spread_tiles

#: NumPy's names of the 8-bit floats; their greatest number.
_FLOAT8 = {"float8_e4m3": ("float8_e4m3fn", 448.0), "float8_e5m2": ("float8_e5m2", 57344.0)}


def float8_cast(values: Array, name: str) -> Array:
    """Return values as 8-bit floats, rounded to nearest even; those beyond the greatest number become it."""
    dtype, greatest = _FLOAT8[name]
    return np.clip(values, -greatest, greatest).astype(numpy_dtype(dtype))


class Cast(Plain):
    """A change of element type, rounded to nearest even."""

    def __init__(self, dtype: str) -> None:
        self._dtype = numpy_dtype(dtype)

    def encode(self, values: Array) -> Tensors:
        """Return the values in the element type; greater ones become infinite."""
        with np.errstate(over="ignore"):
            return {"values": values.astype(self._dtype)}

    def decode(self, tensors: Tensors, shape: Shape) -> Array:
        """Return the values."""
        return tensors["values"].reshape(shape)


class _Tiles(NamedTuple):
    height: int  # rows of a tile; 0 for all
    width: int  # columns; 0 for all

    def magnitudes(self, values: Array) -> Array:
        """Return the greatest magnitude in each tile."""
        greatest = np.abs(values)
        if not self.height:
            return np.asarray(greatest.max(initial=0), np.float32).reshape(1)
        for axis, size in ((1, self.height), (2, self.width or max(values.shape[2], 1))):
            starts = np.arange(0, greatest.shape[axis], size)
            greatest = np.maximum.reduceat(greatest, starts, axis=axis)
        return greatest.astype(np.float32)

    def spread(self, scales: Array, shape: Shape) -> Array:
        """Return the scale of each element."""
        if not self.height:
            return scales.reshape(1, 1, 1)
        return spread_tiles(scales, shape, (self.height, self.width or max(shape[2], 1)))


class Float8(Plain):
    """8-bit floats with a scale in float32 for a tensor, for rows, or for tiles of rows and columns."""

    def __init__(self, name: str, height: int = 0, width: int = 0) -> None:
        self._name = name
        self._tiles = _Tiles(height, width)
        self.rows = height
        self._greatest = np.float32(_FLOAT8[name][1])

    def encode(self, values: Array) -> Tensors:
        """Return values and scales, such that the greatest element of a tile becomes the greatest number."""
        scales = self._tiles.magnitudes(values) / self._greatest
        spread = self._tiles.spread(np.where(scales == 0, np.float32(1), scales), values.shape)
        return {"values": float8_cast(values / spread, self._name), "scales": scales}

    def decode(self, tensors: Tensors, shape: Shape) -> Array:
        """Return the values times their scales."""
        values: Array = tensors["values"].reshape(shape).astype(np.float32)
        return values * self._tiles.spread(tensors["scales"], shape)
