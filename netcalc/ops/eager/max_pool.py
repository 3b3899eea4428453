"""Eager execution of :mod:`netcalc.ops.max_pool`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.ops.adaptive_pool import AdaptiveMaxPooling
from netcalc.ops.eager import Eager, EagerCall, Moment, eager
from netcalc.ops.max_pool import MaxPooling


@eager("max_pool1d", "max_pool2d", "max_pool3d")
class MaxPoolingEager(Eager):
    """PyTorch's kernel always returns the indices of the maxima."""

    def moments(self, op: MaxPooling | AdaptiveMaxPooling, call: EagerCall) -> Sequence[Moment]:
        if op.return_indices:
            return (Moment(),)
        return (Moment((call.work("indices", *call.outputs[0].shape, dtype="int64"),)),)
