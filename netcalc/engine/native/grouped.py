"""Convolution of few channels in each group by a compiled kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

from netcalc.engine.native.library import bound, integers
from netcalc.numerics.kernels import Array

__all__ = ["FILTERS", "MOST_AXES", "MOST_CHANNELS", "MOST_TAPS", "grouped"]

#: Spatial axes that the kernel takes, at most.
MOST_AXES = 3
#: Filters that it computes together.
FILTERS = 8
#: Taps and channels that it takes, at most.
MOST_TAPS, MOST_CHANNELS = 64, 4096

_Axes = ctypes.c_ssize_t * MOST_AXES


class _Grouped(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("x", "weight", "out")),
        *((name, ctypes.c_ssize_t) for name in ("images", "share", "blocks", "blocks_of_group")),
        *((name, _Axes) for name in ("first", "count", "size", "kernel", "stride", "dilation", "padding")),
        ("image_stride", ctypes.c_ssize_t),
        ("x_stride", _Axes),
    )


def grouped(
    x: Array,
    weight: Array,
    out: Array,
    first: int,
    stride: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
) -> Callable[[], object]:
    """Return the call that computes windows of images from row ``first`` of the first axis on.

    Args:
        x: images (images, sizes…, channels) of float32, whose channels lie together.
        weight: (blocks of :data:`FILTERS`, kernel…, channels of a group, filters of a block), without gaps.
        out: (images, rows, counts…, filters), without gaps.
        first: number of the first row of windows.
        stride: by spatial axis.
        dilation: by spatial axis.
        padding: zeros before each spatial axis; those after it follow from the number of windows.
    """

    def axes(values: Sequence[int], other: int) -> ctypes.Array[ctypes.c_ssize_t]:
        return integers(*(other,) * (MOST_AXES - len(values)), *values)

    strides = [stride // x.itemsize for stride in x.strides]
    share, blocks = weight.shape[-2], len(weight)
    arguments = _Grouped(
        x.ctypes.data,
        weight.ctypes.data,
        out.ctypes.data,
        len(x),
        share,
        blocks,
        blocks // (x.shape[-1] // share),
        axes((first, *(0,) * (len(stride) - 1)), 0),
        axes(out.shape[1:-1], 1),
        axes(x.shape[1:-1], 1),
        axes(weight.shape[1:-2], 1),
        axes(stride, 1),
        axes(dilation, 1),
        axes(padding, 0),
        strides[0],
        axes(strides[1:-1], 0),
    )
    return bound("grouped", arguments, x, weight, out)
