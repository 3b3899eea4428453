"""Convolutions by the compiled kernels that read windows in place."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import NamedTuple

from netcalc.arrays import Array
from netcalc.engine.native.epilogue import Epilogue
from netcalc.engine.native.library import bound, integers

#: Spatial axes that the kernels take, at most.
MOST_AXES = 3
#: Filters of a block of ``grouped``; channels and filters of the groups that it takes in pairs; windows that it takes
#: together, at most.
FILTERS, HALF, PIXELS = 8, 4, 8
#: Taps and channels that ``grouped`` and ``product`` take, at most.
MOST_TAPS, MOST_CHANNELS = 64, 4096

_Axes = ctypes.c_ssize_t * MOST_AXES


class Windows(ctypes.Structure):
    """Argument of the kernels."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("x", "weight", "out")),
        *((name, ctypes.c_ssize_t) for name in ("images", "channels", "filters", "groups")),
        *((name, _Axes) for name in ("first", "count", "size", "kernel", "stride", "dilation", "padding")),
        ("image_stride", ctypes.c_ssize_t),
        ("x_stride", _Axes),
    )


class Geometry(NamedTuple):
    """Windows of a convolution, by spatial axis; padding is that before each axis, and the rest follows from counts."""

    kernel: Sequence[int]
    stride: Sequence[int]
    dilation: Sequence[int]
    padding: Sequence[int]
    groups: int = 1

    def arguments(self, x: Array, weight: Array | None, out: Array, first: int, counts: Sequence[int]) -> Windows:
        """Return the kernels' description of windows.

        Args:
            x: images (images, sizes…, channels) of float32, whose channels lie together.
            weight: in the order that a kernel takes, if it takes one.
            out: its last axis has the filters.
            first: number of the first row of windows along the first axis.
            counts: number of windows along each axis.
        """
        strides = [stride // x.itemsize for stride in x.strides]
        return Windows(
            *(None if array is None else array.ctypes.data for array in (x, weight, out)),
            *(len(x), x.shape[-1], out.shape[-1], self.groups),
            _axes((first, *(0,) * (len(counts) - 1)), 0),
            _axes(counts, 1),
            _axes(x.shape[1:-1], 1),
            _axes(self.kernel, 1),
            _axes(self.stride, 1),
            _axes(self.dilation, 1),
            _axes(self.padding, 0),
            strides[0],
            _axes(strides[1:-1], 0),
        )


class _Depthwise(ctypes.Structure):
    _fields_ = (("windows", Windows), ("epilogue", ctypes.POINTER(Epilogue)))


class _Pool(ctypes.Structure):
    _fields_ = (("windows", Windows), ("largest", ctypes.c_ssize_t))


class _Grouped(ctypes.Structure):
    _fields_ = (
        ("windows", Windows),
        *((name, ctypes.c_void_p) for name in ("slab", "starts")),
        ("blocks", ctypes.c_ssize_t),
    )


def depthwise(
    x: Array, weight: Array, out: Array, first: int, geometry: Geometry, epilogue: Epilogue | None = None
) -> Callable[[], object]:
    """Return the call that computes windows of images, with one filter for each channel.

    Args:
        x: images (images, sizes…, channels) of float32, whose channels lie together.
        weight: (kernel…, channels), without gaps.
        out: (images, rows, counts…, channels), without gaps.
        first: number of the first row of windows along the first axis.
        geometry: the windows.
        epilogue: operations on ``out``, as (windows, channels).
    """
    arguments = _Depthwise(
        geometry.arguments(x, weight, out, first, out.shape[1:-1]),
        None if epilogue is None else ctypes.pointer(epilogue),
    )
    return bound("depthwise", arguments, x, weight, out, epilogue)


def pool(x: Array, out: Array, first: int, geometry: Geometry, *, largest: bool) -> Callable[[], object]:
    """Return the call that computes the largest element or the sum of each window, those of the padding left out.

    Args:
        x: images (images, sizes…, channels) of float32, whose channels lie together, as many as a vector has or more.
        out: (images, rows, counts…, channels), without gaps.
        first: number of the first row of windows along the first axis.
        geometry: the windows.
        largest: True for the largest element, which is -inf in a window without elements; False for the sum.
    """
    arguments = _Pool(geometry.arguments(x, None, out, first, out.shape[1:-1]), largest)
    return bound("pool", arguments, x, out)


def grouped(
    x: Array, weight: Array, out: Array, slab: Array, starts: Array, first: int, geometry: Geometry
) -> Callable[[], object]:
    """Return the call that computes windows of images, with few channels in each group.

    Args:
        x: images (images, sizes…, channels) of float32, whose channels lie together.
        weight: (blocks of filters, kernel…, channels of a group, filters of a block), without gaps; a block has
            :data:`FILTERS` or twice as many.  Of groups of :data:`HALF` channels and filters, a block has two.
        out: (images, rows, counts…, filters), without gaps.
        slab: scratch of the elements of a group, or of a pair, that the windows of an image read, padding included.
        starts: scratch of an integer for each window of an image, and :data:`PIXELS` more.
        first: number of the first row of windows along the first axis.
        geometry: the windows.
    """
    arguments = _Grouped(
        geometry.arguments(x, weight, out, first, out.shape[1:-1]),
        *(array.ctypes.data for array in (slab, starts)),
        weight.shape[-1] // FILTERS,
    )
    return bound("grouped", arguments, x, weight, out, slab, starts)


def _axes(values: Sequence[int], other: int) -> ctypes.Array[ctypes.c_ssize_t]:
    return integers(*(other,) * (MOST_AXES - len(values)), *values)
