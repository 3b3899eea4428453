"""Depthwise convolution by a compiled kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

from netcalc.engine.native.library import bound, integers
from netcalc.numerics.kernels import Array

__all__ = ["LEAST_CHANNELS", "MOST_AXES", "depthwise"]

#: Spatial axes that the kernel takes, at most.
MOST_AXES = 3
#: Channels that the kernel takes at a time.
LEAST_CHANNELS = 16

_Axes = ctypes.c_ssize_t * MOST_AXES


class _Depthwise(ctypes.Structure):
    _fields_ = (
        ("x", ctypes.c_void_p),
        ("weight", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("images", ctypes.c_ssize_t),
        ("channels", ctypes.c_ssize_t),
        *((name, _Axes) for name in ("first", "count", "size", "kernel", "stride", "dilation", "padding")),
        ("image_stride", ctypes.c_ssize_t),
        ("x_stride", _Axes),
    )


def depthwise(
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
        weight: (kernel…, channels), without gaps.
        out: (images, rows, counts…, channels), without gaps.
        first: number of the first row of windows.
        stride: by spatial axis.
        dilation: by spatial axis.
        padding: zeros before each spatial axis; those after it follow from the number of windows.
    """

    def axes(values: Sequence[int], other: int) -> ctypes.Array[ctypes.c_ssize_t]:
        return integers(*(other,) * (MOST_AXES - len(values)), *values)

    strides = [stride // x.itemsize for stride in x.strides]
    arguments = _Depthwise(
        x.ctypes.data,
        weight.ctypes.data,
        out.ctypes.data,
        len(x),
        x.shape[-1],
        axes((first, *(0,) * (len(stride) - 1)), 0),
        axes(out.shape[1:-1], 1),
        axes(x.shape[1:-1], 1),
        axes(weight.shape[:-1], 1),
        axes(stride, 1),
        axes(dilation, 1),
        axes(padding, 0),
        strides[0],
        axes(strides[1:-1], 0),
    )
    return bound("depthwise", arguments, x, weight, out)
