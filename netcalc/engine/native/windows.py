"""Convolutions by the compiled kernels that read windows in place."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

from netcalc.arrays import Array
from netcalc.engine.native.library import bound, integers

#: Spatial axes that the kernels take, at most.
MOST_AXES = 3
#: Filters that ``grouped`` computes together.
FILTERS = 8
#: Taps and channels that ``grouped`` takes, at most.
MOST_TAPS, MOST_CHANNELS = 64, 4096

_Axes = ctypes.c_ssize_t * MOST_AXES


class _Windows(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("x", "weight", "out")),
        *((name, ctypes.c_ssize_t) for name in ("images", "channels", "filters", "groups")),
        *((name, _Axes) for name in ("first", "count", "size", "kernel", "stride", "dilation", "padding")),
        ("image_stride", ctypes.c_ssize_t),
        ("x_stride", _Axes),
    )


def convolution(
    name: str,
    x: Array,
    weight: Array,
    out: Array,
    *,
    first: int,
    groups: int,
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
) -> Callable[[], object]:
    """Return the call that computes windows of images from row ``first`` of the first axis on.

    Args:
        name: the kernel, ``depthwise`` or ``grouped``.
        x: images (images, sizes…, channels) of float32, whose channels lie together.
        weight: (kernel…, channels) for ``depthwise``, and (blocks of :data:`FILTERS`, kernel…, channels of a group,
            filters of a block) for ``grouped``, without gaps.
        out: (images, rows, counts…, filters), without gaps.
        first: number of the first row of windows.
        groups: number of groups.
        kernel: by spatial axis.
        stride: by spatial axis.
        dilation: by spatial axis.
        padding: zeros before each spatial axis; those after it follow from the number of windows.
    """

    def axes(values: Sequence[int], other: int) -> ctypes.Array[ctypes.c_ssize_t]:
        return integers(*(other,) * (MOST_AXES - len(values)), *values)

    strides = [stride // x.itemsize for stride in x.strides]
    arguments = _Windows(
        *(array.ctypes.data for array in (x, weight, out)),
        *(len(x), x.shape[-1], out.shape[-1], groups),
        axes((first, *(0,) * (len(stride) - 1)), 0),
        axes(out.shape[1:-1], 1),
        axes(x.shape[1:-1], 1),
        axes(kernel, 1),
        axes(stride, 1),
        axes(dilation, 1),
        axes(padding, 0),
        strides[0],
        axes(strides[1:-1], 0),
    )
    return bound(name, arguments, x, weight, out)
