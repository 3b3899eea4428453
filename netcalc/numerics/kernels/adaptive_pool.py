"""Kernels of :mod:`netcalc.ops.adaptive_pool`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, like, wide
from netcalc.numerics.kernels._windows import Index
from netcalc.ops.adaptive_pool import AdaptiveAvgPooling, AdaptiveMaxPooling


def _gather(sizes: Sequence[int], targets: Sequence[int]) -> tuple[Index, Array]:
    """Return the index of the windows (…, targets…, longest window…), and the mask of its valid elements.

    A window shorter than the longest repeats its last element, which the mask excludes.
    """
    rank = len(sizes)
    index, belongs = [], []
    for axis, (size, target) in enumerate(zip(sizes, targets, strict=True)):
        steps = np.arange(target)
        starts, ends = steps * size // target, -(-(steps + 1) * size // target)
        reach = starts[:, None] + np.arange((ends - starts).max())
        shape = [1] * (2 * rank)
        shape[axis], shape[rank + axis] = reach.shape
        index.append(np.minimum(reach, ends[:, None] - 1).reshape(shape))
        belongs.append((reach < ends[:, None]).reshape(shape))
    return (..., *index), reduce(np.logical_and, belongs)


@kernel("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def average(op: AdaptiveAvgPooling, run: Run, x: Array) -> Array:
    return averaged(x, _targets(op, x))


def averaged(x: Array, targets: Sequence[int]) -> Array:
    """Return the averages of windows that divide the last axes into ``targets`` parts."""
    y = summed(wide(x), targets)
    y /= window_sizes(x.shape[-len(targets) :], targets)
    return y.astype(x.dtype, copy=False)


def summed(x: Array, targets: Sequence[int]) -> Array:
    """Return the sums of windows that divide the last axes into ``targets`` parts."""
    index, belongs = _gather(x.shape[-len(targets) :], targets)
    inner = tuple(range(-len(targets), 0))
    y: Array = np.add.reduce(x[index], axis=inner, where=True if belongs.all() else belongs)
    return y


def window_sizes(sizes: Sequence[int], targets: Sequence[int]) -> Array:
    """Return the number of elements of each window that divides axes of ``sizes`` into ``targets`` parts."""
    _, belongs = _gather(sizes, targets)
    numbers: Array = np.count_nonzero(belongs, axis=tuple(range(-len(targets), 0)))
    return numbers


@kernel("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def maximum(op: AdaptiveMaxPooling, run: Run, x: Array) -> Array | tuple[Array, Array]:
    sizes = x.shape[-op.axes :]
    index, belongs = _gather(sizes, _targets(op, x))
    windows = x[index]
    inner = tuple(range(-op.axes, 0))
    if not op.return_indices and run.kept is None:
        largest: Array = np.maximum.reduce(windows, axis=inner, initial=-np.inf, where=belongs)
        return largest
    flat = windows.reshape(*windows.shape[: -op.axes], -1)
    # a repeated element follows its original, so that it is never the first of equal elements
    best = np.argmax(np.asarray(flat), axis=-1)[..., None]
    outputs = math.prod(best.shape) // math.prod(belongs.shape[: op.axes])
    run.note("compare", outputs * (np.count_nonzero(belongs) - math.prod(belongs.shape[: op.axes])))
    positions = np.broadcast_to(np.ravel_multi_index(index[1:], sizes), windows.shape).reshape(flat.shape)
    indices = np.take_along_axis(positions, best, -1)[..., 0]
    y = like(x, np.take_along_axis(np.asarray(flat), best, -1)[..., 0])
    if op.return_indices:
        return y, like(x, indices)
    run.keep(result1=indices)
    return y


def _targets(op: AdaptiveAvgPooling | AdaptiveMaxPooling, x: Array) -> list[int]:
    """Return the spatial sizes of the result."""
    return [n if out is None else out for n, out in zip(x.shape[-op.axes :], op.output_size, strict=True)]
