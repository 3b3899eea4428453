"""References of :mod:`netcalc.ops.softmax`, from the logarithm of the sum of exponentials, term by term."""

from __future__ import annotations

import math

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._places import along
from netcalc.verification.references._sums import double


def log_share(x: Array, place: int) -> Value:
    """Return the logarithm of the softmax of a vector at a place; NaN if the largest element is infinite."""
    vector = double(x)
    largest = float(vector.max())
    if not math.isfinite(largest):
        return Value(math.nan, 0.0)
    everything = float(np.logaddexp.reduce(vector))
    own = float(vector[place])
    return Value(own - everything, abs(own) + abs(everything) + 1)


@reference("softmax", "log_softmax")
def softmax(op: Attributes, x: Array) -> Expected:
    def at(index: Shape) -> Value:
        share = log_share(along(x, index, op.axis), index[op.axis])
        if op.name == "log_softmax":
            return share
        own = math.exp(share.value)
        return Value(own, own * (1 + share.magnitude) if own else 0.0)

    return Expected(x.shape, x.dtype.name, at, x.shape[op.axis])
