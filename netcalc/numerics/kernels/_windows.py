"""Helpers of kernels with windows: padding, strided views of windows, and products with filters."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from netcalc.arrays import Array
from netcalc.numerics.kernels import like

Index: TypeAlias = tuple[Any, ...]

#: Bytes of windows that are copied into columns at a time, which limits memory use and fits the cache.
SLAB_BYTES = 1 << 24

_NUMPY_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(x: Array, pads: Sequence[tuple[int, int]], mode: str = "zeros", value: float = 0) -> Array:
    """Return ``x`` padded along its last axes; ``zeros`` (or ``constant``) fills with ``value``."""
    if not any(map(any, pads)):
        return x
    if mode in _NUMPY_MODES:
        lead = [(0, 0)] * (x.ndim - len(pads))
        return like(x, np.pad(np.asarray(x), [*lead, *pads], mode=_NUMPY_MODES[mode]))  # type: ignore[call-overload]
    lead_shape, sizes = x.shape[: -len(pads)], x.shape[-len(pads) :]
    shape = [*lead_shape, *(n + a + b for n, (a, b) in zip(sizes, pads, strict=True))]
    if math.prod(shape) * x.itemsize > sys.maxsize:  # NumPy raises ValueError for it
        raise MemoryError(f"an array of shape {shape}")
    padded = np.full(shape, value, x.dtype)
    inner: Index = (..., *(slice(a, a + n) for n, (a, _) in zip(sizes, pads, strict=True)))
    padded[inner] = x
    return like(x, padded)


def extents(
    padding: Sequence[tuple[int, int]] | str,
    sizes: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> list[tuple[int, int]]:
    """Return the padding before and after each axis, as given or by the name of a rule."""
    if not isinstance(padding, str):
        return [*padding]
    pads = []
    for size, k, s, d in zip(sizes, kernel, stride, dilation, strict=True):
        missing = 0
        if padding == "same":
            missing = d * (k - 1)
        elif padding != "valid":  # the last window starts at the last multiple of the stride inside the input
            missing = max(range(0, size, s)[-1] + d * (k - 1) + 1 - size, 0)
        less = missing // 2
        pads.append((missing - less, less) if padding == "same_lower" else (less, missing - less))
    return pads


def taps(
    kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], counts: Sequence[int]
) -> Iterator[Index]:
    """Yield the index that selects one element of all windows, for each element in row-major order."""
    for tap in product(*map(range, kernel)):
        spans = zip(tap, stride, dilation, counts, strict=True)
        yield (..., *(slice(t * d, t * d + (n - 1) * s + 1, s) for t, s, d, n in spans))


def windows(
    x: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], counts: Sequence[int]
) -> Array:
    """Return a view (…, kernel…, counts…) of the windows over the last axes."""
    lead, last = x.ndim - len(kernel), x.strides[x.ndim - len(kernel) :]
    # the distance of a single element or window to the next may be any, and too large for NumPy
    steps = [
        *x.strides[:lead],
        *(n * d if k > 1 else 0 for n, d, k in zip(last, dilation, kernel, strict=True)),
        *(n * s if count > 1 else 0 for n, s, count in zip(last, stride, counts, strict=True)),
    ]
    return as_strided(x, (*x.shape[:lead], *kernel, *counts), steps, subok=True, writeable=False)


def correlate(x: Array, weight: Array, stride: Sequence[int], dilation: Sequence[int], groups: int = 1) -> Array:
    """Return the products of filters (out, in/groups, kernel…) with all windows of the padded ``x`` (N, in, …)."""
    out, share, *kernel = weight.shape
    batch, channels, *sizes = x.shape
    counts = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(sizes, kernel, stride, dilation, strict=True)]
    filters = weight.reshape(groups, out // groups, share * math.prod(kernel))
    view = windows(x, kernel, stride, dilation, counts)
    step = max(1, SLAB_BYTES // (channels * math.prod(kernel) * math.prod(counts[1:]) * x.itemsize))
    y = like(x, np.empty((batch, out, *counts), np.result_type(x, weight)))
    for sample in range(batch):
        for start in range(0, counts[0], step):
            # (channels, kernel…, counts…), sliced along the first of the counts
            slab: Index = (sample, *(slice(None),) * (1 + len(kernel)), slice(start, start + step))
            columns = view[slab].reshape(groups, filters.shape[2], -1)
            y[sample, :, start : start + step] = np.matmul(filters, columns).reshape(out, -1, *counts[1:])
    return y


def overlap(
    columns: Array,
    sizes: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    pads: Sequence[tuple[int, int]],
) -> Array:
    """Return the sum of overlapping windows (…, kernel…, counts…) without the padding: (…, sizes…)."""
    rank = len(sizes)
    kernel, counts = columns.shape[-2 * rank : -rank], columns.shape[-rank:]
    lead = columns.shape[: -2 * rank]
    # the windows may end after the kept part, or before its end
    reach = [
        max(d * (k - 1) + (n - 1) * s + 1, a + size)
        for d, k, n, s, (a, _), size in zip(dilation, kernel, counts, stride, pads, sizes, strict=True)
    ]
    canvas = like(columns, np.zeros((*lead, *reach), columns.dtype))
    by_tap = np.moveaxis(columns.reshape(*lead, -1, *counts), len(lead), 0)
    for values, index in zip(by_tap, taps(kernel, stride, dilation, counts), strict=True):
        canvas[index] += values
    inside: Index = (..., *(slice(a, a + size) for (a, _), size in zip(pads, sizes, strict=True)))
    result: Array = canvas[inside]
    return result
