"""Helpers of pooling kernels: windows along each axis, and their sums and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels._windows import extents, pad, taps


class Windows(NamedTuple):
    """Windows along each axis of an input: ``pads`` is the declared padding, ``reach`` extends to the last windows.

    The stride of a single window, and the dilation of a single element, are 1: as declared they may be of any size.
    """

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    pads: list[tuple[int, int]]
    counts: list[int]
    reach: list[tuple[int, int]]


def windows_of(op: Any, sizes: Sequence[int]) -> Windows:
    """Return the windows of a pooling over axes of these sizes."""
    kernel: tuple[int, ...] = op.kernel
    stride = tuple(k if s is None else s for k, s in zip(kernel, op.stride, strict=True))
    dilation: tuple[int, ...] = getattr(op, "dilation", (1,) * len(kernel))
    pads = extents(op.padding, sizes, kernel, stride, dilation)
    counts, reach = [], []
    for size, (before, after), k, s, d in zip(sizes, pads, kernel, stride, dilation, strict=True):
        span = d * (k - 1) + 1
        count = len(range(-before, size + after - span + 1, s))
        end = (count - 1) * s + span - before
        if op.ceil_mode and end < size + after and count * s - before < size:
            count, end = count + 1, end + s
        counts.append(count)
        reach.append((before, max(after, end - size)))
    stride = tuple(s if count > 1 else 1 for s, count in zip(stride, counts, strict=True))
    dilation = tuple(d if k > 1 else 1 for d, k in zip(dilation, kernel, strict=True))
    return Windows(kernel, stride, dilation, pads, counts, reach)


def sums(windows: Windows, x: Array) -> Array:
    """Return the sum of each window, with padding of zeros."""
    padded = pad(x, windows.reach)
    first, *others = taps(windows.kernel, windows.stride, windows.dilation, windows.counts)
    y: Array = padded[first].copy()
    for index in others:
        y += padded[index]
    return y


def elements(windows: Windows, sizes: Sequence[int], *, with_padding: bool) -> Array:
    """Return the number of elements of each window, with or without padding, up to the end of the padding."""
    axes = len(sizes)
    numbers = np.ones((1,) * axes, np.int64)
    for axis, (size, count, (before, after)) in enumerate(zip(sizes, windows.counts, windows.pads, strict=True)):
        starts = np.arange(count) * windows.stride[axis] - before
        ends = np.minimum(starts + windows.kernel[axis], size + after)
        if not with_padding:
            starts, ends = np.maximum(starts, 0), np.minimum(ends, size)
        numbers = numbers * (ends - starts).reshape(-1, *(1,) * (axes - axis - 1))
    return numbers
