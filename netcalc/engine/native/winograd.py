"""Transforms of Winograd's minimal filtering by compiled kernels."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from netcalc.arrays import Array
from netcalc.engine.native.library import bound


class _Winograd(ctypes.Structure):
    _fields_ = (
        ("image", ctypes.c_void_p),
        ("planes", ctypes.c_void_p),
        *(
            (name, ctypes.c_ssize_t)
            for name in (
                *("m", "images", "rows", "across", "channels", "top", "left", "height", "width"),
                *("image_stride", "row_stride", "column_stride", "plane"),
            )
        ),
    )


def winograd_input(images: Array, planes: Array, top: int, left: int) -> Callable[[], object]:
    """Return the call that transforms tiles of images.

    Args:
        images: (images, rows, columns, channels) of float32, whose channels lie together.
        planes: (n, n, images, rows, across, channels) of tiles, without gaps but between planes.
        top: place of the first row of the tiles in an image; negative in the padding.
        left: place of the first column.
    """
    return bound("winograd_input", _arguments(images, planes, top, left), images, planes)


def winograd_output(planes: Array, images: Array) -> Callable[[], object]:
    """Return the call that transforms tiles back to images; pixels beyond an edge are dropped."""
    return bound("winograd_output", _arguments(images, planes, 0, 0), images, planes)


def _arguments(images: Array, planes: Array, top: int, left: int) -> _Winograd:
    image, row, column = (stride // images.itemsize for stride in images.strides[:3])
    return _Winograd(
        images.ctypes.data,
        planes.ctypes.data,
        len(planes) - 2,
        *planes.shape[2:],
        top,
        left,
        *images.shape[1:3],
        image,
        row,
        column,
        planes.strides[1] // planes.itemsize,
    )
