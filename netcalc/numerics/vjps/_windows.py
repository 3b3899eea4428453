"""Helpers of products with windows: gradients of padding, of windows, and of filters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like
from netcalc.numerics.kernels._windows import SLAB_BYTES, Index, taps, windows


def without_padding(gradient: Array, sizes: Sequence[int], pads: Sequence[tuple[int, int]], mode: str) -> Array:
    """Return the gradient of an array from the gradient of the array padded along its last axes.

    Elements that the mode repeats in the padding gain its gradient: one addition for each element of the padding.
    """
    first = gradient.ndim - len(sizes)
    for axis, (size, pad) in enumerate(zip(sizes, pads, strict=True), start=first):
        gradient = unfolded_edges(gradient, axis, size, pad, mode)
    return gradient


def unfolded_edges(gradient: Array, axis: int, size: int, pad: tuple[int, int], mode: str) -> Array:
    """Return the gradient along one axis without its padding, whose gradient is added to the elements it repeats."""
    before, after = pad
    if not before and not after:
        return gradient
    by_axis = np.moveaxis(gradient, axis, 0)
    head, inner, tail = by_axis[:before], by_axis[before : before + size], by_axis[before + size :]
    if mode in ("zeros", "constant"):
        return np.moveaxis(inner, 0, axis)
    inner = inner.copy()
    if mode == "replicate":
        for part, place in ((head, 0), (tail, -1)):
            if len(part):
                inner[place] += np.add.reduce(part, axis=0)
    elif mode == "reflect":
        inner[1 : before + 1] += head[::-1]
        inner[size - 1 - after : size - 1] += tail[::-1]
    else:  # circular
        inner[size - before :] += head
        inner[:after] += tail
    return np.moveaxis(inner, 0, axis)


def embedded(x: Array, axes: Sequence[int], starts: Sequence[int], sizes: Sequence[int]) -> Array:
    """Return ``x`` in zeros of ``sizes`` along some axes, from ``starts`` on; what reaches beyond is cut off."""
    shape, inside, source = list(x.shape), [slice(None)] * x.ndim, [slice(None)] * x.ndim
    for axis, start, size in zip(axes, starts, sizes, strict=True):
        low, high = max(start, 0), max(min(start + x.shape[axis], size), max(start, 0))
        shape[axis], inside[axis], source[axis] = size, slice(low, high), slice(low - start, high - start)
    if all(size == old for size, old in zip(shape, x.shape, strict=True)) and not any(starts):
        return x
    canvas = like(x, np.zeros(shape, x.dtype))
    canvas[tuple(inside)] = x[tuple(source)]
    return canvas


def spread(
    gradient: Array, weight: Array, sizes: Sequence[int], stride: Sequence[int], dilation: Sequence[int], groups: int
) -> Array:
    """Return the gradient of a padded input (N, in, sizes…) from the gradient of its products with filters.

    The sums of overlapping windows are the additions of the MACs, and are not counted again.
    """
    out, share, *kernel = weight.shape
    transposed = weight.reshape(groups, out // groups, share * math.prod(kernel)).swapaxes(1, 2)
    canvas = np.zeros((len(gradient), groups * share, *sizes), np.result_type(gradient, weight))
    for sample, slab, index in _slabs(gradient, canvas, kernel, stride, dilation):
        rows = gradient[sample, :, slab].reshape(groups, out // groups, -1)
        columns = np.asarray(np.matmul(transposed, rows)).reshape(groups * share, math.prod(kernel), -1)
        part = canvas[sample]
        for tap, place in enumerate(index):
            part[place] += columns[:, tap].reshape(part[place].shape)
    return like(gradient, canvas)


def filter_gradient(
    x: Array, gradient: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], groups: int
) -> Array:
    """Return the gradient of filters (out, in/groups, kernel…) from the padded input and the gradient of the products.

    The sums over samples and slabs are additions of the MACs, and are not counted again.
    """
    out, counts = gradient.shape[1], gradient.shape[2:]
    share = x.shape[1] // groups
    view = windows(x, kernel, stride, dilation, counts)
    total = np.zeros((groups, out // groups, share * math.prod(kernel)), np.result_type(x, gradient))
    for sample, slab, _ in _slabs(gradient, x, kernel, stride, dilation):
        rows = gradient[sample, :, slab].reshape(groups, out // groups, -1)
        chosen: Index = (sample, *(slice(None),) * (1 + len(kernel)), slab)
        columns = view[chosen].reshape(groups, total.shape[2], -1)
        total += np.asarray(np.matmul(rows, columns.swapaxes(1, 2)))
    return like(gradient, total.reshape(out, share, *kernel))


def _slabs(
    gradient: Array, x: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Iterator[tuple[int, slice, list[Index]]]:
    """Yield each sample with slices of its first axis of windows, and the index into ``x`` of each element of those."""
    counts = gradient.shape[2:]
    row = x.shape[1] * math.prod(kernel) * math.prod(counts[1:]) * x.itemsize
    step = max(1, SLAB_BYTES // max(row, 1))
    for sample in range(len(gradient)):
        for start in range(0, counts[0], step):
            part = min(step, counts[0] - start)
            shifted = [
                (every, slice(first.start + start * stride[0], first.stop + start * stride[0], first.step), *others)
                for every, first, *others in taps(kernel, stride, dilation, [part, *counts[1:]])
            ]
            yield sample, slice(start, start + part), shifted
