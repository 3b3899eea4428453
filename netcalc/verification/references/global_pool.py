"""References of :mod:`netcalc.ops.global_pool`: statistics of whole channels."""

from __future__ import annotations

import math

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._sums import total


def _shape(op: Attributes, shape: Shape) -> tuple[int, Shape]:
    """Return the number of pooled axes, which the name ends in, and the shape of the result."""
    axes = int(op.name[-2])
    return axes, (*shape[:-axes], *(1,) * (axes if op.keepdim else 0))


@reference("global_avg_pool1d", "global_avg_pool2d", "global_avg_pool3d")
def average(op: Attributes, x: Array) -> Expected:
    axes, shape = _shape(op, x.shape)
    count = math.prod(x.shape[-axes:])

    def at(index: Shape) -> Value:
        summed = total(x[index[: x.ndim - axes]])
        return Value(summed.value / count, summed.magnitude / count)

    return Expected(shape, x.dtype.name, at, count)


@reference("global_max_pool1d", "global_max_pool2d", "global_max_pool3d")
def maximum(op: Attributes, x: Array) -> Expected:
    axes, shape = _shape(op, x.shape)

    def at(index: Shape) -> float:
        elements = [float(element) for element in x[index[: x.ndim - axes]].ravel()]
        return math.nan if any(map(math.isnan, elements)) else sorted(elements)[-1]

    return Expected(shape, x.dtype.name, at, math.prod(x.shape[-axes:]))
