"""References of :mod:`netcalc.ops.lp_pool`, after torch.nn.LPPool2d."""

from __future__ import annotations

import math

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._pooling import pooled
from netcalc.verification.references._sums import double, total


@reference("lp_pool1d", "lp_pool2d", "lp_pool3d")
def power_average(op: Attributes, x: Array) -> Expected:
    shape, window = pooled(op, x.shape)
    p = float(op.norm_type)

    def at(index: Shape) -> Value:
        plane = x[index[: -len(op.kernel)]]
        inner, padded = window(index)
        summed = total(double([plane[position] for position in inner]) ** p)
        full = math.prod(op.kernel) / padded
        root = float(np.float64(summed.value * full) ** (1 / p))
        # an error of the sum, relative to its terms, is divided by p in the root
        return Value(root, abs(root) * (1 + (summed.magnitude / abs(summed.value) / p if summed.value else 0)))

    return Expected(shape, x.dtype.name, at, math.prod(op.kernel))
