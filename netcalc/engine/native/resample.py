"""Images resized by a compiled kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.native.library import bound, integers
from netcalc.engine.native.windows import MOST_AXES

#: Pixels of which one of the result is the sum, at most.
MOST_PIXELS = 64

_Axes = ctypes.c_ssize_t * MOST_AXES


class _Resample(ctypes.Structure):
    _fields_ = (
        ("x", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("places", ctypes.c_void_p * MOST_AXES),
        ("weights", ctypes.c_void_p * MOST_AXES),
        *((name, _Axes) for name in ("taps", "count")),
        *((name, ctypes.c_ssize_t) for name in ("images", "channels", "image_stride", "out_image_stride")),
        ("out_stride", _Axes),
    )


class Filter(NamedTuple):
    """The filter along an axis.

    Attributes:
        places: (count, taps) of int64, in elements of memory from the beginning of an image.
        weights: (count, taps) of float32.
    """

    places: Array
    weights: Array

    def part(self, start: int, end: int) -> Filter:
        """Return the filter of some elements of the result."""
        return Filter(self.places[start:end], self.weights[start:end])


#: The filter along an axis that images do not have.
_NONE = Filter(np.zeros((1, 1), np.int64), np.ones((1, 1), np.float32))


def resample(x: Array, out: Array, filters: Sequence[Filter]) -> Callable[[], object]:
    """Return the call that resizes images.

    Args:
        x: images (images, sizes…, channels) of float32, whose channels lie together, as many as a vector has or more.
        out: (images, counts…, channels), whose channels lie together.
        filters: by axis, without gaps; the product of their taps is at most :data:`MOST_PIXELS`.
    """
    steps, out_steps = ([stride // x.itemsize for stride in array.strides] for array in (x, out))
    lacking = MOST_AXES - len(filters)
    every = [*(_NONE,) * lacking, *filters]
    addresses = zip(*((array.ctypes.data for array in one) for one in every), strict=True)
    places, weights = ((ctypes.c_void_p * MOST_AXES)(*group) for group in addresses)
    arguments = _Resample(
        *(x.ctypes.data, out.ctypes.data, places, weights),
        *(integers(*(one.places.shape[axis] for one in every)) for axis in (1, 0)),
        *(len(x), x.shape[-1], steps[0], out_steps[0]),
        integers(*(0,) * lacking, *out_steps[1:-1]),
    )
    return bound("resample", arguments, x, out, *every)
