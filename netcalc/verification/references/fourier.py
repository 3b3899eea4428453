"""References of :mod:`netcalc.ops.fourier`: the sum of the definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference
from netcalc.verification.references._sums import double, total


@reference("fourier")
def fourier(op: Attributes, x: Array) -> Expected:
    axes = [axis % x.ndim for axis in op.axis]
    reads = math.prod(x.shape[axis] for axis in axes)

    def at(index: Shape) -> Any:
        terms = double(x[tuple(slice(None) if axis in axes else place for axis, place in enumerate(index))])
        phases = np.zeros(terms.shape)
        for number, axis in enumerate(sorted(axes)):
            turns = np.arange(x.shape[axis]) * index[axis] % x.shape[axis] / x.shape[axis]
            phases = phases + turns.reshape([-1 if other == number else 1 for other in range(terms.ndim)])
        return total(terms, np.cos(2 * math.pi * phases))

    return Expected(x.shape, x.dtype.name, at, reads)
