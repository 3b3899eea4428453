"""References of :mod:`netcalc.ops.avg_pool`, after torch.nn.AvgPool2d."""

from __future__ import annotations

import math

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._pooling import pooled
from netcalc.verification.references._sums import total


@reference("avg_pool1d", "avg_pool2d", "avg_pool3d")
def average(op: Attributes, x: Array) -> Expected:
    shape, window = pooled(op, x.shape)

    def at(index: Shape) -> Value:
        plane = x[index[: -len(op.kernel)]]
        inner, padded = window(index)
        summed = total([plane[position] for position in inner])
        divisor = op.divisor_override or (padded if op.count_include_pad else len(inner))
        return Value(summed.value / divisor, abs(summed.magnitude / divisor))

    return Expected(shape, x.dtype.name, at, math.prod(op.kernel))
