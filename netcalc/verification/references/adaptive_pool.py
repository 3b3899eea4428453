"""References of :mod:`netcalc.ops.adaptive_pool`, after torch.nn.AdaptiveAvgPool2d.

Output element i of n covers the part from i/n to (i + 1)/n of the axis, and pools all elements that it touches.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._sums import total
from netcalc.verification.references._windows import touched

Window = Callable[[Shape], tuple[slice, ...]]


def _windows(op: Attributes, shape: Shape) -> tuple[Shape, Window, int]:
    """Return the shape of the result, a function from its places to windows, and the size of the largest one."""
    axes = len(op.output_size)
    sizes = shape[-axes:]
    targets = [size if out is None else out for size, out in zip(sizes, op.output_size, strict=True)]

    def window(index: Shape) -> tuple[slice, ...]:
        slices = []
        for i, size, out in zip(index[-axes:], sizes, targets, strict=True):
            elements = touched(i, size, out)
            slices.append(slice(elements.start, elements.stop))
        return tuple(slices)

    largest = math.prod(size // out + 2 for size, out in zip(sizes, targets, strict=True)) + sum(sizes)
    return (*shape[:-axes], *targets), window, largest


@reference("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def average(op: Attributes, x: Array) -> Expected:
    shape, window, reads = _windows(op, x.shape)

    def at(index: Shape) -> Value:
        elements = x[index[: -len(op.output_size)]][window(index)]
        summed = total(elements)
        return Value(summed.value / elements.size, summed.magnitude / elements.size)

    return Expected(shape, x.dtype.name, at, reads)


@reference("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def maximum(op: Attributes, x: Array) -> Expected | tuple[Expected, ...]:
    shape, window, reads = _windows(op, x.shape)
    sizes = x.shape[-len(op.output_size) :]

    def first_largest(index: Shape) -> tuple[float, int]:
        plane, places = x[index[: -len(op.output_size)]], np.arange(math.prod(sizes)).reshape(sizes)
        elements = [float(element) for element in plane[window(index)].ravel()]
        # NaN is larger than all numbers
        best = max(range(len(elements)), key=lambda n: (math.isnan(elements[n]), elements[n], -n))
        return elements[best], int(places[window(index)].ravel()[best])

    y = Expected(shape, x.dtype.name, lambda index: first_largest(index)[0], reads)
    if not op.return_indices:
        return y
    return y, Expected(shape, "int64", lambda index: first_largest(index)[1], math.prod(sizes))
